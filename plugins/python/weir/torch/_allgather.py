"""All-gather: every rank ends with all ranks' tensors, one after the other."""

from typing import Optional

import torch

from weir import _job
from weir.torch import _allreduce, _handles, _names, _reduce_op, _tensors
from weir._process_sets import ProcessSet, global_process_set, id_for


def allgather_async(tensor: torch.Tensor, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an all-gather; returns a handle for ``synchronize`` and ``poll``.

    Tensors are of the same type and, but for the first dimension, of the same shape; they are
    concatenated along the first dimension in the order of ranks.

    Raises ValueError for a tensor that is not contiguous or of an unsupported type, and for a name
    that is under way.
    """
    dtype = _tensors.check(tensor)
    set_id = id_for(process_set, "ALLGATHER")
    gathered = _job.engine().allgather(_names.of("allgather", name, process_set),
                                       tensor.data_ptr(), dtype, tensor.shape, set_id)
    return _handles.register([gathered.handle],
                             lambda: _tensors.from_gathered(gathered, tensor.dtype), tensor)


class _Allgather(torch.autograd.Function):
    """A rank's gradient is its own rows of the averaged gradient of the whole."""

    @staticmethod
    def forward(ctx, tensor, name, process_set):
        ctx.rows = tensor.shape[0] if tensor.dim() else 0
        ctx.process_set = process_set
        return _handles.synchronize(allgather_async(tensor, name, process_set))

    @staticmethod
    def backward(ctx, gradient):
        reduced = _allreduce.allreduce(gradient.contiguous(), op=_reduce_op.Average,
                                       process_set=ctx.process_set)
        rows = allgather_rows(ctx.rows, ctx.process_set)
        before = sum(rows[:ctx.process_set.rank()])
        return reduced.narrow(0, before, ctx.rows), None, None


def allgather_rows(rows: int, process_set: ProcessSet) -> "list[int]":
    """Every rank's number."""
    return _handles.synchronize(
        allgather_async(torch.tensor([rows]), process_set=process_set)).tolist()


def allgather(tensor: torch.Tensor, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """All ranks' tensors, concatenated; see ``allgather_async``. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    _tensors.expect(tensor)
    if tensor.requires_grad and torch.is_grad_enabled():
        return _Allgather.apply(tensor, name, process_set)
    return _handles.synchronize(allgather_async(tensor, name, process_set))
