"""Operations that combine the ranks' arrays."""

from typing import Any, Optional, Sequence, Tuple

from weir import _job
from weir._ops import handles, operation_names, reduce_op
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.numpy import _arrays


def _submit(array: Any, output: Any, name: Optional[str], op: Optional[int], prescale: float,
            postscale: float, process_set: ProcessSet) -> int:
    dtype = _arrays.number_of_reduced(array)
    data, into = _arrays.in_a_row(array), _arrays.in_a_row(output)
    set_id = id_for(process_set, "ALLREDUCE")
    operation = _job.engine().allreduce(
        operation_names.of("allreduce", name, process_set), _arrays.address_of(data), _arrays.address_of(into),
        dtype, data.shape, reduce_op.chosen(op), reduce_op.factor(prescale), reduce_op.factor(postscale), set_id,
        _arrays.place_of(data))
    return handles.register([operation], lambda: _arrays.delivered(output, into), (data, into))


def allreduce_async(array: Any, name: Optional[str] = None, op: Optional[int] = None,
                    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an all-reduce into a new array; returns a handle for ``synchronize`` and ``poll``.

    Every rank gives an array of the same shape and type (int32, int64, float16, float32, float64, or bfloat16 of
    ``ml_dtypes``), or a number, and the same ``op`` (Average) and factors. Values are multiplied by
    ``prescale_factor``, combined, and multiplied by ``postscale_factor``.

    Raises ValueError for an array of another type and for a name that is under way, TypeError for what is none.
    """
    array = _arrays.given(array)
    return _submit(array, _arrays.fresh(array), name, op, prescale_factor, postscale_factor, process_set)


def allreduce_async_(array: Any, name: Optional[str] = None, op: Optional[int] = None,
                     prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                     process_set: ProcessSet = global_process_set) -> int:
    """``allreduce_async`` into the array itself. Raises ValueError for one that is read-only."""
    array = _arrays.target(array)
    return _submit(array, array, name, op, prescale_factor, postscale_factor, process_set)


def allreduce(array: Any, name: Optional[str] = None, op: Optional[int] = None,
              prescale_factor: float = 1.0, postscale_factor: float = 1.0,
              process_set: ProcessSet = global_process_set) -> Any:
    """Returns the combination of all ranks' arrays; see ``allreduce_async``.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    return handles.synchronize(allreduce_async(array, name, op, prescale_factor, postscale_factor, process_set))


def allreduce_(array: Any, name: Optional[str] = None, op: Optional[int] = None,
               prescale_factor: float = 1.0, postscale_factor: float = 1.0,
               process_set: ProcessSet = global_process_set) -> Any:
    """``allreduce`` into the array itself, which is returned."""
    return handles.synchronize(allreduce_async_(array, name, op, prescale_factor, postscale_factor, process_set))


def grouped_allreduce_async(arrays: Sequence[Any], name: Optional[str] = None, op: Optional[int] = None,
                            prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                            process_set: ProcessSet = global_process_set) -> int:
    """``allreduce_async`` of several arrays, perhaps of different types, as one operation: it begins when all
    ranks have submitted all of them. ``synchronize`` returns a tuple. Raises ValueError for none."""
    arrays = [_arrays.given(array) for array in arrays]
    if not arrays:
        raise ValueError("a grouped all-reduce needs at least one array")
    dtypes = [_arrays.number_of_reduced(array) for array in arrays]
    data = [_arrays.in_a_row(array) for array in arrays]
    outputs = [_arrays.fresh(array) for array in arrays]
    set_id = id_for(process_set, "ALLREDUCE")
    operation = _job.engine().grouped_allreduce(
        operation_names.of("grouped_allreduce", name, process_set), [_arrays.address_of(each) for each in data],
        [_arrays.address_of(each) for each in outputs], dtypes, [each.shape for each in data],
        reduce_op.chosen(op), reduce_op.factor(prescale_factor), reduce_op.factor(postscale_factor), set_id,
        [_arrays.place_of(each) for each in data])
    return handles.register([operation], lambda: tuple(outputs), (data, outputs))


def grouped_allreduce(arrays: Sequence[Any], name: Optional[str] = None, op: Optional[int] = None,
                      prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                      process_set: ProcessSet = global_process_set) -> Tuple[Any, ...]:
    """Returns the combination of each of the arrays over all ranks.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    return handles.synchronize(grouped_allreduce_async(arrays, name, op, prescale_factor, postscale_factor,
                                                       process_set))


def reducescatter_async(array: Any, name: Optional[str] = None, op: int = reduce_op.Average,
                        process_set: ProcessSet = global_process_set,
                        prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> int:
    """Starts a reduce-scatter: the rows of the combination are divided among the ranks in their order, and the
    first ones get one more if the number does not divide. ``op`` is Average or Sum; the rest is as in
    ``allreduce_async``."""
    array = _arrays.given(array)
    dtype = _arrays.number_of_reduced(array)
    op = reduce_op.of_reducescatter(op)
    data = _arrays.in_a_row(array)
    part = _job.engine().reducescatter(
        operation_names.of("reducescatter", name, process_set), _arrays.address_of(data), dtype, data.shape, op,
        reduce_op.factor(prescale_factor), reduce_op.factor(postscale_factor),
        id_for(process_set, "REDUCESCATTER"), _arrays.place_of(data), _arrays.maker_for(data))
    return handles.register([part.handle], lambda: _arrays.from_gathered(part, data), data)


def reducescatter(array: Any, name: Optional[str] = None, op: int = reduce_op.Average,
                  process_set: ProcessSet = global_process_set,
                  prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> Any:
    """Returns this rank's rows of the combination; see ``reducescatter_async``."""
    return handles.synchronize(reducescatter_async(array, name, op, process_set, prescale_factor,
                                                   postscale_factor))
