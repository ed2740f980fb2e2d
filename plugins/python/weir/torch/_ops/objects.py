"""Python objects between ranks, pickled."""

import pickle
from typing import Any, List, Optional

import torch

from weir import _job, _pickling
from weir._process_sets import ProcessSet, global_process_set
from weir.torch._ops.allgather import allgather
from weir.torch._ops.broadcast import broadcast_


def _pickled(obj: Any) -> torch.Tensor:
    return torch.frombuffer(bytearray(_pickling.for_same_program(obj)), dtype=torch.uint8)


def _unpickled(data: torch.Tensor) -> Any:
    return pickle.loads(data.numpy().tobytes())


def broadcast_object(obj: Any = None, root_rank: int = 0, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> Any:
    """Returns the root's object, on every rank. It is pickled: accept it only from ranks that you
    trust.

    Lambdas, local functions and local classes work too (cloudpickle).
    """
    name = name or "broadcast_object"
    is_root = _job.rank() == root_rank
    data = _pickled(obj) if is_root else torch.empty(0, dtype=torch.uint8)
    size = broadcast_(torch.tensor([data.numel()]), root_rank, name + ".size", process_set)
    if not is_root:
        data = torch.empty(int(size), dtype=torch.uint8)
    broadcast_(data, root_rank, name + ".data", process_set)
    return obj if is_root else _unpickled(data)


def allgather_object(obj: Any, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> List[Any]:
    """Returns every rank's object, in the order of ranks. They are pickled like ``broadcast_object``'s."""
    name = name or "allgather_object"
    data = _pickled(obj)
    sizes = allgather(torch.tensor([data.numel()]), name + ".size", process_set)
    pieces = allgather(data, name + ".data", process_set).split(sizes.tolist())
    return [_unpickled(piece) for piece in pieces]
