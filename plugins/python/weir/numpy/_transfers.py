"""Operations that carry arrays from rank to rank as they are."""

import operator
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy

from weir import _job
from weir._ops import handles, operation_names
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.numpy import _arrays


def _broadcast(array: Any, output: Any, root_rank: int, name: Optional[str], process_set: ProcessSet) -> int:
    dtype = _arrays.number_of(array)
    set_id = id_for(process_set, "BROADCAST")
    process_set._check_root(root_rank)
    if output is not array and _job.rank() == root_rank:
        output[...] = array
    data = _arrays.in_a_row(output)
    operation = _job.engine().broadcast(operation_names.of("broadcast", name, process_set),
                                        _arrays.address_of(data), dtype, data.shape, root_rank, set_id,
                                        _arrays.place_of(data))
    return handles.register([operation], lambda: _arrays.delivered(output, data), data)


def broadcast_async(array: Any, root_rank: int, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts a broadcast into a new array; returns a handle for ``synchronize`` and ``poll``.

    ``root_rank`` is the rank in the whole job, also with a process set. Arrays are of the same shape and type on
    all ranks.

    Raises ValueError for a root that is not in the process set, for an array of an unsupported type, and for a
    name that is under way.
    """
    array = _arrays.given(array)
    return _broadcast(array, _arrays.fresh(array), root_rank, name, process_set)


def broadcast_async_(array: Any, root_rank: int, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> int:
    """``broadcast_async`` into the array itself. Raises ValueError for one that is read-only."""
    array = _arrays.target(array)
    return _broadcast(array, array, root_rank, name, process_set)


def broadcast(array: Any, root_rank: int, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> Any:
    """Returns the root's array; see ``broadcast_async``.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    return handles.synchronize(broadcast_async(array, root_rank, name, process_set))


def broadcast_(array: Any, root_rank: int, name: Optional[str] = None,
               process_set: ProcessSet = global_process_set) -> Any:
    """``broadcast`` into the array itself, which is returned."""
    return handles.synchronize(broadcast_async_(array, root_rank, name, process_set))


def allgather_async(array: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> int:
    """Starts an all-gather; returns a handle for ``synchronize`` and ``poll``.

    Arrays have the same type and, except for the first dimension, the same shape; they are concatenated along the
    first dimension in the order of ranks. Those without dimensions, and numbers, make a vector.

    Raises ValueError for an array of an unsupported type, and for a name that is under way.
    """
    array = _arrays.given(array)
    dtype = _arrays.number_of(array)
    data = _arrays.in_a_row(array if array.ndim else array.reshape(1))
    gathered = _job.engine().allgather(
        operation_names.of("allgather", name, process_set), _arrays.address_of(data), dtype, data.shape,
        id_for(process_set, "ALLGATHER"), _arrays.place_of(data), _arrays.maker_for(data))
    return handles.register([gathered.handle], lambda: _arrays.from_gathered(gathered, data), data)


def allgather(array: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> Any:
    """Returns all ranks' arrays, concatenated; see ``allgather_async``.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    return handles.synchronize(allgather_async(array, name, process_set))


def _checked_splits(splits: Optional[Sequence[int]]) -> List[int]:
    try:
        return [] if splits is None else [operator.index(one) for one in splits]
    except TypeError as error:
        raise ValueError(f"splits={splits!r:.60}: give whole numbers, one for each rank") from error


def alltoall_async(array: Any, splits: Optional[Sequence[int]] = None, name: Optional[str] = None,
                   process_set: ProcessSet = global_process_set) -> int:
    """Starts an all-to-all; ``synchronize`` returns ``(output, received_splits)``.

    splits: integers, one number for each rank: the first splits[0] rows go to rank 0, the next splits[1] to rank
        1, and so on; together at most the rows of the array. None: the same number for each.

    ``output`` has the rows from all ranks, in rank order, ``received_splits`` (int32) the number of rows of each.
    All dimensions except the first, and types, are the same on all ranks.

    Raises ValueError for splits that do not fit, and as ``allgather_async`` does.
    """
    array = _arrays.given(array)
    dtype = _arrays.number_of(array)
    data = _arrays.in_a_row(array)
    received = _job.engine().alltoall(
        operation_names.of("alltoall", name, process_set), _arrays.address_of(data), dtype, data.shape,
        _checked_splits(splits), id_for(process_set, "ALLTOALL"), _arrays.place_of(data), _arrays.maker_for(data))
    return handles.register(
        [received.handle],
        lambda: (_arrays.from_gathered(received, data), numpy.array(received.rows, dtype=numpy.int32)), data)


def alltoall(array: Any, splits: Optional[Sequence[int]] = None, name: Optional[str] = None,
             process_set: ProcessSet = global_process_set) -> Union[Any, Tuple[Any, Any]]:
    """Returns ``output`` when no splits are given, else ``(output, received_splits)``; see ``alltoall_async``."""
    output, received = handles.synchronize(alltoall_async(array, splits, name, process_set))
    return output if splits is None else (output, received)
