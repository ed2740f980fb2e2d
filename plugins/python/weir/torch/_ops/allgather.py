"""All-gather: every rank gets all ranks' tensors, one after the other."""

from typing import TYPE_CHECKING, Optional, Tuple

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import allreduce, engine_tensors

if TYPE_CHECKING:
    from weir import _core


def _submit(tensor: torch.Tensor, name: Optional[str], process_set: ProcessSet
            ) -> "Tuple[_core.Gathered, torch.Tensor]":
    """Returns what is gathered, and the memory that it is gathered from."""
    dtype = engine_tensors.check(tensor)
    # A number of each rank makes a vector.
    data = engine_tensors.dense(tensor if tensor.dim() else tensor.reshape(1))
    set_id = id_for(process_set, "ALLGATHER")
    return _job.engine().allgather(
        operation_names.of("allgather", name, process_set), data.data_ptr(), dtype, data.shape,
        set_id, engine_tensors.place_of(data), engine_tensors.maker_for(data)), data


def allgather_async(tensor: torch.Tensor, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an all-gather; returns a handle for ``synchronize`` and ``poll``.

    Tensors have the same type and, except for the first dimension, the same shape; they are
    concatenated along the first dimension in the order of ranks. Those without dimensions make a
    vector.

    Raises ValueError for a tensor of an unsupported type, and for a name that is under way.
    """
    gathered, data = _submit(tensor, name, process_set)
    return handles.register(
        [gathered.handle], lambda: engine_tensors.from_gathered(gathered, tensor), data)


def rows_before(gathered: "_core.Gathered", process_set: ProcessSet) -> int:
    """Returns the index of this rank's first row in a result."""
    return sum(gathered.rows[:process_set.rank()])


class _Allgather(torch.autograd.Function):
    """A rank's gradient is its own rows of the averaged gradient of the whole."""

    @staticmethod
    def forward(ctx, tensor, name, process_set):
        gathered, data = _submit(tensor, name, process_set)
        handles.wait([gathered.handle])
        ctx.process_set = process_set
        ctx.own, ctx.shape = (rows_before(gathered, process_set), data.shape[0]), tensor.shape
        return engine_tensors.from_gathered(gathered, tensor)

    @staticmethod
    def backward(ctx, gradient):
        reduced = allreduce.allreduce(gradient.contiguous(), op=reduce_op.Average,
                                      process_set=ctx.process_set)
        return reduced.narrow(0, *ctx.own).reshape(ctx.shape), None, None


def allgather(tensor: torch.Tensor, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Returns all ranks' tensors, concatenated; see ``allgather_async``. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    engine_tensors.expect(tensor)
    if tensor.requires_grad and torch.is_grad_enabled():
        return _Allgather.apply(tensor, name, process_set)
    return handles.synchronize(allgather_async(tensor, name, process_set))
