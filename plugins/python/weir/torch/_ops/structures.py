"""Dictionaries and lists with tensors in them, brought to all ranks."""

from typing import Any, Dict

import torch

from weir import _job
from weir._process_sets import ProcessSet
from weir.torch._ops.broadcast_parameters import broadcast_parameters
from weir.torch._ops.objects import broadcast_object


def broadcast_structure(value: Any, root_rank: int, name: str, process_set: ProcessSet) -> Any:
    """Returns the root's structure of dictionaries, lists, tensors and plain values; on the root `value`
    itself. Tensors travel as such, and are on the CPU elsewhere. Collective."""
    tensors: Dict[str, torch.Tensor] = {}
    if _job.rank() == root_rank:
        skeleton = _take_tensors(value, name, tensors)
        shapes = {path: (tensor.shape, tensor.dtype) for path, tensor in tensors.items()}
        broadcast_object((skeleton, shapes), root_rank, f"{name}_state", process_set)
        tensors = {path: tensor.contiguous().clone() for path, tensor in tensors.items()}
    else:
        skeleton, shapes = broadcast_object(None, root_rank, f"{name}_state", process_set)
        tensors = {path: torch.empty(shape, dtype=dtype) for path, (shape, dtype) in shapes.items()}
    broadcast_parameters(tensors, root_rank, process_set)
    return value if _job.rank() == root_rank else _put_tensors(skeleton, tensors)


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
