"""All-to-all: every rank sends a part of its rows to every other rank."""

from typing import List, Optional, Tuple, Union

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir._ops import handles, operation_names
from weir.torch._ops import engine_tensors


def _checked_splits(splits: Optional[torch.Tensor]) -> List[int]:
    if splits is None:
        return []
    if not torch.is_tensor(splits):
        splits = torch.tensor(splits, dtype=torch.int32)
    if splits.dtype.is_floating_point or splits.dtype in (torch.bool, torch.complex64,
                                                          torch.complex128):
        raise ValueError("alltoall expects splits to contain 32-bit integer elements. "
                         f"These are {splits.dtype}; integers of any width will do.")
    if splits.dim() != 1:
        raise ValueError("alltoall expects a 1D splits tensor, one number for each rank.")
    return splits.tolist()


def _submit(tensor: torch.Tensor, splits: Optional[torch.Tensor], name: Optional[str],
            process_set: ProcessSet) -> int:
    dtype = engine_tensors.check(tensor)
    tensor = engine_tensors.dense(tensor)
    set_id = id_for(process_set, "ALLTOALL")
    received = _job.engine().alltoall(
        operation_names.of("alltoall", name, process_set), tensor.data_ptr(), dtype, tensor.shape,
        _checked_splits(splits), set_id, engine_tensors.place_of(tensor),
        engine_tensors.maker_for(tensor))
    return handles.register(
        [received.handle],
        lambda: (engine_tensors.from_gathered(received, tensor),
                 torch.tensor(received.rows, dtype=torch.int32)),
        tensor)


class _Alltoall(torch.autograd.Function):
    """The gradient returns the way the rows came."""

    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        ctx.process_set = process_set
        ctx.rows = tensor.shape[0]
        output, received = handles.synchronize(_submit(tensor, splits, name, process_set))
        ctx.received = received
        ctx.mark_non_differentiable(received)
        return output, received

    @staticmethod
    def backward(ctx, gradient, _):
        returned, _ = handles.synchronize(
            _submit(gradient.contiguous(), ctx.received, None, ctx.process_set))
        unsent = ctx.rows - returned.shape[0]
        if unsent:
            returned = torch.cat([returned, returned.new_zeros(unsent, *returned.shape[1:])])
        return returned, None, None, None


def alltoall_async(tensor: torch.Tensor, splits: Optional[torch.Tensor] = None,
                   name: Optional[str] = None,
                   process_set: ProcessSet = global_process_set) -> int:
    """Starts an all-to-all; ``synchronize`` returns ``(output, received_splits)``.

    splits: integers, one number for each rank: the first splits[0] rows go to rank 0, the next
        splits[1] to rank 1, and so on; together at most the rows of the tensor. None: the same
        number for each.

    ``output`` has the rows from all ranks, in rank order, ``received_splits`` (int32) the number of
    rows of each. All dimensions except the first, and types, are the same on all ranks.

    Raises ValueError for splits that do not fit, and as ``allreduce_async`` does.
    """
    return _submit(tensor, splits, name, process_set)


def alltoall(tensor: torch.Tensor, splits: Optional[torch.Tensor] = None,
             name: Optional[str] = None, process_set: ProcessSet = global_process_set
             ) -> Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
    """Returns ``output`` when no splits are given, else ``(output, received_splits)``; see
    ``alltoall_async``. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    engine_tensors.expect(tensor)
    if tensor.requires_grad and torch.is_grad_enabled():
        output, received = _Alltoall.apply(tensor, splits, name, process_set)
    else:
        output, received = handles.synchronize(_submit(tensor, splits, name, process_set))
    return output if splits is None else (output, received)
