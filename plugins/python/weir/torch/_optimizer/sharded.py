"""The steps of an optimizer whose parameters are shards (``DTensor``, as ``fully_shard`` makes them)."""

from typing import Any, Dict, Optional

import torch

from weir import _job
from weir.torch._optimizer import hooks, state_rows
from weir.torch._optimizer.parameter_slot import Slot
from weir.torch._optimizer.step import Distributed


def is_sharded(parameter: torch.Tensor) -> bool:
    """True if each rank has a part of it."""
    return hasattr(parameter, "to_local")


class ShardSlot(Slot):
    """A parameter of which this rank has a shard. What is exchanged is the shard's gradient."""

    __slots__ = ()

    @property
    def local(self) -> torch.Tensor:
        return _local_of(self.parameter)

    @property
    def gradient(self) -> Optional[torch.Tensor]:
        gradient = self.parameter.grad
        return None if gradient is None else _local_of(gradient)


@torch.no_grad()
def _local_of(tensor: Any) -> torch.Tensor:
    found: torch.Tensor = tensor.to_local()  # With gradients enabled it would be another view each time.
    return found


def _sharded_as(value: torch.Tensor, parameter: Any) -> Any:
    """Returns a whole tensor, which a full state has, as shards like a parameter's. Collective."""
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value, parameter.device_mesh, parameter.placements)


class Sharded(Distributed):
    """An optimizer of shards, which are exchanged among the ranks that have the same ones."""

    _weir_saves_marks = True  # torch.distributed.checkpoint wants to find every parameter.
    _weir_replicate: Any = None  # Their dimension of the mesh, as the program gave it.

    @property
    def _step_supports_amp_scaling(self) -> bool:
        # GradScaler.step asks this first.
        raise ValueError("GradScaler with shards: each would decide on its own whether to skip a step; train "
                         "in bfloat16, which needs no scaler")

    def _weir_retire(self) -> None:
        """Hears of no gradients any more: another optimizer does."""
        for handle in self._weir_hooks:
            (handle[1] if isinstance(handle, tuple) else handle).remove()
        self._weir_hooks.clear()
        self._weir_slots.clear()

    def _weir_slot(self, name: str, parameter: torch.Tensor, group: int, adoption: int) -> Slot:
        if not is_sharded(parameter):
            return Slot(name, parameter, group, adoption)
        slot = ShardSlot(name, parameter, group, adoption)
        mesh = parameter.device_mesh  # type: ignore[attr-defined]
        known = self.__dict__.setdefault("_weir_meshes", {})  # All parameters may share one.
        if mesh not in known:
            known[mesh] = state_rows.mesh_of(self._weir_replicate, mesh)
        slot.mesh_of_rows = known[mesh]
        return slot

    def _weir_attach(self, slot: Slot) -> None:
        if not is_sharded(slot.parameter):
            return hooks.attach(self, slot)
        # fully_shard calls these when it has put the reduced gradient into the parameter.
        self._weir_hooks.append(slot.parameter.register_post_accumulate_grad_hook(
            hooks.called_for(self, slot)))
        return None

    def state_dict(self) -> Dict[str, Any]:
        """Returns the wrapped optimizer's state, with what is not sent yet beside it for each parameter, in a
        form that ``torch.distributed.checkpoint`` can move to another mesh."""
        found = super().state_dict()
        state_rows.move_out(self, found)
        return found

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores a ``state_dict``. Every rank must load, between the same steps."""
        has_own = "_weir_own_part" in self.__dict__
        loaded = state_rows.without_rows(state_dict)[1] if has_own else state_rows.move_in(self, state_dict)
        super().load_state_dict(loaded)
        for parameter, entries in self.state.items():
            for name, value in entries.items() if is_sharded(parameter) else ():
                if torch.is_tensor(value) and not is_sharded(value) and value.shape == parameter.shape:
                    entries[name] = _sharded_as(value, parameter)
