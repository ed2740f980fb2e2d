"""Several all-gathers as one operation: all of them or none."""

from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import engine_tensors
from weir.torch._ops.allgather import rows_before
from weir.torch._ops.grouped_allreduce import grouped_allreduce

if TYPE_CHECKING:
    from weir import _core


def _submit(tensors: Sequence[torch.Tensor], name: Optional[str],
            process_set: ProcessSet) -> "List[_core.Gathered]":
    inputs = engine_tensors.crossing("all-gather", tensors, engine_tensors.check)
    set_id = id_for(process_set, "ALLGATHER")
    return _job.engine().grouped_allgather(
        operation_names.of("grouped_allgather", name, process_set), *inputs, set_id,
        *engine_tensors.rows_of(tensors))


def _gatherable(tensors: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    return [engine_tensors.dense(tensor if tensor.dim() else tensor.reshape(1))
            for tensor in engine_tensors.listed(tensors)]


def grouped_allgather_async(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                            process_set: ProcessSet = global_process_set) -> int:
    """``allgather_async`` of several tensors, perhaps of different types, as one operation: it begins
    when all ranks have submitted all of them. ``synchronize`` returns a tuple."""
    tensors = _gatherable(tensors)
    gathered = _submit(tensors, name, process_set)
    return handles.register([gathered[0].handle],
                            lambda: engine_tensors.all_from_gathered(gathered, tensors), tensors)


class _GroupedAllgather(torch.autograd.Function):
    """Gradients are averaged as a group; a rank's own rows of each are its gradients."""

    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        data = _gatherable(tensors)
        gathered = _submit(data, name, process_set)
        handles.wait([gathered[0].handle])
        ctx.process_set = process_set
        ctx.own = [(rows_before(result, process_set), rows.shape[0], tensor.shape)
                   for result, rows, tensor in zip(gathered, data, tensors)]
        return engine_tensors.all_from_gathered(gathered, tensors)

    @staticmethod
    def backward(ctx, *gradients):
        reduced = grouped_allreduce([gradient.contiguous() for gradient in gradients],
                                    op=reduce_op.Average, process_set=ctx.process_set)
        return (None, None, *(whole.narrow(0, first, rows).reshape(shape)
                              for whole, (first, rows, shape) in zip(reduced, ctx.own)))


def grouped_allgather(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                      process_set: ProcessSet = global_process_set) -> Tuple[torch.Tensor, ...]:
    """Returns all ranks' tensors, concatenated, for each of the tensors. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    tensors = engine_tensors.listed(tensors)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return _GroupedAllgather.apply(name, process_set, *tensors)
    return handles.synchronize(grouped_allgather_async(tensors, name, process_set))
