"""Bringing an optimizer to the same state on all ranks."""

from typing import Any, Dict

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set
from weir.torch._ops.broadcast_parameters import broadcast_parameters
from weir.torch._ops.objects import broadcast_object
from weir.torch._optimizer import load_in_place


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int,
                              model: Any = None,
                              process_set: ProcessSet = global_process_set) -> None:
    """Copies the root's optimizer state and hyper-parameters to all other ranks.

    State that a rank does not have yet is made. ``model`` is accepted and not needed. The unsent part
    of a compressing ``DistributedOptimizer`` belongs to each rank and stays.

    Raises ValueError for LBFGS, whose state is not of this form.
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    mine = torch.optim.Optimizer.state_dict(optimizer)
    # Loaded but not yet restored state is one rank's; the unsent part is each rank's own.
    mine["weir"] = getattr(optimizer, "_weir_pending", None)
    tensors: Dict[str, torch.Tensor] = {}
    if _job.rank() == root_rank:
        skeleton = _take_tensors(mine, "optimizer", tensors)
        shapes = {name: (value.shape, value.dtype) for name, value in tensors.items()}
        broadcast_object((skeleton, shapes), root_rank, "optimizer_state", process_set)
        tensors = {name: value.contiguous().clone() for name, value in tensors.items()}
    else:
        skeleton, shapes = broadcast_object(None, root_rank, "optimizer_state", process_set)
        tensors = {name: torch.empty(shape, dtype=dtype)
                   for name, (shape, dtype) in shapes.items()}
    broadcast_parameters(tensors, root_rank, process_set)
    if _job.rank() != root_rank:
        state = _put_tensors(skeleton, tensors)
        pending = state.pop("weir")
        with load_in_place.kept(optimizer):
            torch.optim.Optimizer.load_state_dict(optimizer, state)
        if pending is not None:
            optimizer._weir_pending = pending  # type: ignore[attr-defined]


class _Tensor:
    """Placeholder, in a pickled structure, for a tensor that is sent as such."""

    def __init__(self, name: str) -> None:
        self.name = name


def _take_tensors(value: Any, path: str, tensors: Dict[str, torch.Tensor]) -> Any:
    if torch.is_tensor(value):
        tensors[path] = value
        return _Tensor(path)
    if isinstance(value, dict):
        return {key: _take_tensors(item, f"{path}.{key}", tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_take_tensors(item, f"{path}.{i}", tensors)
                           for i, item in enumerate(value))
    return value


def _put_tensors(value: Any, tensors: Dict[str, torch.Tensor]) -> Any:
    if isinstance(value, _Tensor):
        return tensors[value.name]
    if isinstance(value, dict):
        return {key: _put_tensors(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_put_tensors(item, tensors) for item in value)
    return value
