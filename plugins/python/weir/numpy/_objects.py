"""Python objects between ranks, pickled."""

import pickle
from typing import Any, List, Optional

import numpy

from weir import _job, _pickling
from weir._process_sets import ProcessSet, global_process_set
from weir.numpy._transfers import allgather, broadcast_


def _pickled(obj: Any) -> numpy.ndarray:
    return numpy.frombuffer(bytearray(_pickling.for_same_program(obj)), dtype=numpy.uint8)


def broadcast_object(obj: Any = None, root_rank: int = 0, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> Any:
    """Returns the root's object, on every rank. It is pickled: accept it only from ranks that you trust."""
    name = name or "broadcast_object"
    is_root = _job.rank() == root_rank
    data = _pickled(obj) if is_root else numpy.empty(0, dtype=numpy.uint8)
    size = broadcast_(numpy.array([data.size]), root_rank, name + ".size", process_set)
    if not is_root:
        data = numpy.empty(int(size[0]), dtype=numpy.uint8)
    broadcast_(data, root_rank, name + ".data", process_set)
    return obj if is_root else pickle.loads(data.tobytes())


def allgather_object(obj: Any, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> List[Any]:
    """Returns every rank's object, in the order of ranks. They are pickled like ``broadcast_object``'s."""
    name = name or "allgather_object"
    data = _pickled(obj)
    ends = numpy.cumsum(allgather(numpy.array([data.size]), name + ".size", process_set))
    pieces = numpy.split(allgather(data, name + ".data", process_set), ends[:-1])
    return [pickle.loads(piece.tobytes()) for piece in pieces]
