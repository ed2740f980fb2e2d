"""Operations that combine and carry arrays, inside ``jax.jit`` and outside.

A compiled program knows its shapes beforehand: inside ``jax.jit`` all ranks give arrays of the same shape. Operations
can be differentiated in reverse mode. Names match operations over ranks; without one, operations are counted as JAX
traces them, which all ranks do alike.
"""

from typing import Any, Callable, Dict, List, Optional

import jax
import jax.numpy as jnp

import weir.numpy as wn
from weir import _job
from weir._ops import reduce_op
from weir._process_sets import ProcessSet, expect, global_process_set, id_for
from weir.jax import _calls
from weir.numpy import _arrays


def allreduce(tree: Any, op: Optional[int] = None, name: Optional[str] = None, prescale_factor: float = 1.0,
              postscale_factor: float = 1.0, process_set: ProcessSet = global_process_set) -> Any:
    """Returns the combination of all ranks' arrays: of one array, or of all arrays of a pytree, as one operation.

    op: Average (the default), Sum, Min, Max, Product or Adasum. Values are multiplied by ``prescale_factor``,
        combined, and multiplied by ``postscale_factor``.

    The gradient of an average or a sum is that of the ranks' gradients. Raises ValueError for arrays of another type
    than int32, int64, float16, bfloat16, float32 and float64.
    """
    op = reduce_op.chosen(op)
    name = _name_of("allreduce", name, process_set)
    attributes = {"op": op, "prescale": reduce_op.factor(prescale_factor),
                  "postscale": reduce_op.factor(postscale_factor), "process_set": id_for(process_set, "ALLREDUCE")}

    def combined(values: List[Any], name: str) -> List[Any]:
        def function(*arrays: Any) -> Any:
            return wn.grouped_allreduce(arrays, name, op, prescale_factor, postscale_factor, process_set)

        return _calls.carry("allreduce", function, values, [_like(each, each.shape) for each in values],
                            {"name": f"grouped_allreduce.{name}", **attributes})

    def differentiable(values: List[Any], name: str) -> List[Any]:
        def gradient(of_results: List[Any]) -> List[Any]:
            _check_differentiable(op)
            # Whole numbers have gradients of a type without values.
            real = [number for number, each in enumerate(of_results) if each.dtype != jax.dtypes.float0]
            found = differentiable([of_results[number] for number in real], f"{name}.gradient") if real else []
            for number, each in zip(real, found):
                of_results[number] = each
            return of_results

        return _with_gradient(lambda values: combined(values, name), gradient)(values)

    leaves, structure = jax.tree.flatten(tree)
    leaves = [jnp.asarray(leaf) for leaf in leaves]
    for leaf in leaves:
        _arrays.number_of_reduced(leaf)
    return jax.tree.unflatten(structure, differentiable(leaves, name) if leaves else [])


def reducescatter(array: Any, op: int = reduce_op.Average, name: Optional[str] = None,
                  process_set: ProcessSet = global_process_set, prescale_factor: float = 1.0,
                  postscale_factor: float = 1.0) -> Any:
    """Returns this rank's rows of the combination, an average or a sum: the rows are divided among the ranks in their
    order, and the first ones get one more if the number does not divide. The gradient is gathered; inside ``jax.jit``
    this needs a number that divides."""
    op = reduce_op.of_reducescatter(op)
    name = _name_of("reducescatter", name, process_set)
    array = _with_rows(array)
    size, rank = _place_in(process_set, "REDUCESCATTER")
    rows = array.shape[0] // size + (rank < array.shape[0] % size)
    factor = 1.0 / size if op == reduce_op.Average else 1.0

    def mine(values: Any) -> Any:
        return _calls.carry(
            "reducescatter",
            lambda given: [wn.reducescatter(given, name, op, process_set, prescale_factor, postscale_factor)],
            [values], [_like(values, (rows, *values.shape[1:]))],
            {"name": f"reducescatter.{name}", "op": op, "prescale": reduce_op.factor(prescale_factor),
             "postscale": reduce_op.factor(postscale_factor), "process_set": id_for(process_set, "REDUCESCATTER")})[0]

    def back(gradient: Any) -> Any:
        whole = allgather(gradient, f"{name}.gradient", process_set)
        return whole * jnp.asarray(factor * prescale_factor * postscale_factor, whole.dtype)

    return _with_gradient(mine, back)(array)


def allgather(array: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> Any:
    """Returns all ranks' arrays, one after the other along the first dimension. Inside ``jax.jit`` they have the same
    number of rows. The gradient is the sum of the ranks' gradients for this rank's rows."""
    name = _name_of("allgather", name, process_set)
    array = _with_rows(array)

    def back(gradient: Any) -> Any:
        return reducescatter(gradient, reduce_op.Sum, f"{name}.gradient", process_set)

    return _with_gradient(lambda values: _gathered(values, name, process_set), back)(array)


def _gathered(array: Any, name: str, process_set: ProcessSet) -> Any:
    size, _ = _place_in(process_set, "ALLGATHER")
    return _calls.carry("allgather", lambda given: [wn.allgather(given, name, process_set)], [array],
                        [_like(array, (size * array.shape[0], *array.shape[1:]))],
                        {"name": f"allgather.{name}", "process_set": id_for(process_set, "ALLGATHER")})[0]


def alltoall(array: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set) -> Any:
    """Returns the rows that the ranks have for this one, in their order: the rows are divided equally, and the first
    part goes to rank 0. The gradient travels back. Raises ValueError for a number of rows that does not divide."""
    name = _name_of("alltoall", name, process_set)
    array = _with_rows(array)
    size, _ = _place_in(process_set, "ALLTOALL")
    if array.shape[0] % size != 0:
        raise ValueError(f"alltoall: {array.shape[0]} rows do not divide into {size} equal parts, one for each rank; "
                         "weir.numpy.alltoall has splits")

    def moved(values: Any, name: str) -> Any:
        return _calls.carry("alltoall", lambda given: [wn.alltoall(given, None, name, process_set)], [values],
                            [_like(values, values.shape)],
                            {"name": f"alltoall.{name}", "process_set": id_for(process_set, "ALLTOALL")})[0]

    def differentiable(values: Any, name: str) -> Any:
        return _with_gradient(lambda values: moved(values, name),
                              lambda gradient: differentiable(gradient, f"{name}.gradient"))(values)

    return differentiable(array, name)


def broadcast(array: Any, root_rank: int, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> Any:
    """Returns the root's array; ``root_rank`` is a rank of the whole job. The gradient is the sum of the ranks'
    gradients on the root, and zero elsewhere."""
    name = _name_of("broadcast", name, process_set)
    process_set._check_root(root_rank)
    array = jnp.asarray(array)
    _arrays.number_of(array)

    def copied(values: Any) -> Any:
        return _calls.carry("broadcast", lambda given: [wn.broadcast(given, root_rank, name, process_set)], [values],
                            [_like(values, values.shape)],
                            {"name": f"broadcast.{name}", "root": root_rank,
                             "process_set": id_for(process_set, "BROADCAST")}, {0: 0})[0]

    def back(gradient: Any) -> Any:
        total = allreduce(gradient, reduce_op.Sum, f"{name}.gradient", process_set=process_set)
        return total if _job.rank() == root_rank else jnp.zeros_like(total)

    return _with_gradient(copied, back)(array)


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Waits until all ranks have come here. Outside ``jax.jit``; work that JAX has under way is not waited for."""
    from weir._ops.barrier import barrier as wait

    wait(process_set)


def _name_of(kind: str, name: Optional[str], process_set: ProcessSet) -> str:
    expect(process_set)
    return f"jax.{process_set._next_operation('jax.' + kind)}" if name is None else name


def _place_in(process_set: ProcessSet, operation: str) -> Any:
    """Returns the number of ranks, and this one's number."""
    id_for(process_set, operation)
    return process_set.size(), process_set.rank()


def _like(array: Any, shape: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, array.dtype)


def _with_rows(value: Any) -> Any:
    array = jnp.asarray(value)
    _arrays.number_of(array)
    if array.ndim == 0:
        raise ValueError("an array without dimensions has no rows; reshape(1) gives it one")
    return array


def _check_differentiable(op: int) -> None:
    if op not in (reduce_op.Average, reduce_op.Sum):
        raise NotImplementedError(f"an all-reduce by {reduce_op.name_of(op)} has no gradient; Average and Sum do")


def _with_gradient(call: Callable[[Any], Any], back: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns ``call`` with the gradient that ``back`` makes of its result's."""
    function = jax.custom_vjp(lambda value: call(value))
    function.defvjp(lambda value: (function(value), None), lambda _, gradient: (back(gradient),))
    return function
