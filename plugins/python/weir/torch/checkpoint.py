"""Checkpoints of ``torch.distributed.checkpoint`` on a job with another number of replicas.

    state = {"model": model, "optimizer": get_optimizer_state_dict(model, optimizer)}
    dcp.load(state, checkpoint_id=folder, planner=weir.torch.checkpoint.LoadPlanner())

Import it by its name: it needs ``torch.distributed``.
"""

from typing import Any, Dict, Optional

import torch
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, create_default_local_load_plan
from torch.distributed.checkpoint.planner import LoadPlan, ReadItem
from torch.distributed.tensor import DTensor, Replicate

from weir.torch._optimizer import state_rows


class LoadPlanner(DefaultLoadPlanner):
    """Loads a checkpoint in which what is not sent yet is that of more or fewer replicas: each gets the mean
    of all, so that the model is still owed the same sum. Everything else, and the arguments, are those of
    ``DefaultLoadPlanner``; checkpoints of PyTorch before 2.4 are not for it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._means: Dict[str, _Mean] = {}

    def create_local_plan(self) -> LoadPlan:
        saved: Any = self.metadata
        others = {key: value for key, value in self.state_dict.items()
                  if _has_other_rows(key, value, saved.state_dict_metadata.get(key))}
        rest = {key: value for key, value in self.state_dict.items() if key not in others}
        plan = create_default_local_load_plan(rest, saved, not self.allow_partial_load)
        for key, value in others.items():
            every_row = _every_row(value, saved.state_dict_metadata[key].size)
            items = create_default_local_load_plan({key: every_row}, saved).items
            self._means[key] = _Mean(value.to_local(), every_row.size(0), len(items))
            plan.items.extend(items)
        return plan

    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        if read_item.dest_index.fqn not in self._means:
            return super().resolve_tensor(read_item)
        return torch.empty(read_item.lengths, dtype=torch.float32)

    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        mean = self._means.get(read_item.dest_index.fqn)
        if mean is None:
            return super().commit_tensor(read_item, tensor)
        return mean.add(read_item, tensor)


def _has_other_rows(key: str, value: Any, saved: Any) -> bool:
    return (isinstance(value, DTensor) and key.rpartition(".")[2].startswith(state_rows.PREFIX) and hasattr(saved, "size")
            and saved.size[1:] == value.shape[1:] and saved.size[0] != value.shape[0])


def _every_row(mine: DTensor, shape: torch.Size) -> DTensor:
    """Returns a tensor without memory of all saved rows of this rank's shard."""
    local = torch.empty((shape[0], *mine.to_local().shape[1:]), device="meta")
    return DTensor.from_local(local, mine.device_mesh, [Replicate(), *mine.placements[1:]], run_check=False,
                              shape=shape, stride=torch.empty(shape, device="meta").stride())


class _Mean:
    """The mean of all rows, which come in pieces."""

    def __init__(self, result: torch.Tensor, rows: int, pieces: int) -> None:
        self._result, self._rows, self._pieces = result, rows, pieces
        self._sum: Optional[torch.Tensor] = None

    def add(self, read_item: ReadItem, piece: torch.Tensor) -> None:
        if self._sum is None:  # In double: the mean of equal values is that value.
            self._sum = torch.zeros(self._result.shape[1:], dtype=torch.float64)
        place = tuple(slice(begin, begin + length) for begin, length
                      in zip(read_item.dest_offsets[1:], read_item.lengths[1:]))
        self._sum[place] += piece.double().sum(0)
        self._pieces -= 1
        if self._pieces == 0:
            self._result.copy_((self._sum / self._rows).unsqueeze(0))
            self._sum = None
