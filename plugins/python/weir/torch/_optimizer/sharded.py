"""The steps of an optimizer whose parameters are shards (``DTensor``, as ``fully_shard`` makes them)."""

from typing import Any, Optional

import torch

from weir import _job
from weir.torch._optimizer import hooks
from weir.torch._optimizer.parameter_slot import Slot
from weir.torch._optimizer.step import Distributed


def is_sharded(parameter: torch.Tensor) -> bool:
    """True if each rank has a part of it."""
    return hasattr(parameter, "to_local")


class ShardSlot(Slot):
    """A parameter of which this rank has a shard. What is exchanged is the shard's gradient."""

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


class Sharded(Distributed):
    """An optimizer of shards, which are exchanged among the ranks that have the same ones."""

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
        kind = ShardSlot if is_sharded(parameter) else Slot
        return kind(name, parameter, group, adoption)

    def _weir_attach(self, slot: Slot) -> None:
        if not is_sharded(slot.parameter):
            return hooks.attach(self, slot)
        # fully_shard calls these when it has put the reduced gradient into the parameter.
        self._weir_hooks.append(slot.parameter.register_post_accumulate_grad_hook(
            hooks.called_for(self, slot)))
        return None
