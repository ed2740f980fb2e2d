"""Several reduce-scatters as one operation: all of them or none."""

from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.torch._compression.compression import Compression
from weir.torch._compression.compressors import single_of
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import engine_tensors
from weir.torch._ops.grouped_allgather import grouped_allgather
from weir.torch._ops.reducescatter import gradient_factor

if TYPE_CHECKING:
    from weir import _core


def _submit(tensors: Sequence[torch.Tensor], name: Optional[str], op: int, prescale: float,
            postscale: float, process_set: ProcessSet) -> "List[_core.Gathered]":
    inputs = engine_tensors.crossing("reduce-scatter", tensors, engine_tensors.check_reduced)
    set_id = id_for(process_set, "REDUCESCATTER")
    return _job.engine().grouped_reducescatter(
        operation_names.of("grouped_reducescatter", name, process_set), *inputs,
        reduce_op.of_reducescatter(op), reduce_op.factor(prescale), reduce_op.factor(postscale), set_id,
        *engine_tensors.rows_of(tensors))


def grouped_reducescatter_async(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                                op: int = reduce_op.Average,
                                process_set: ProcessSet = global_process_set,
                                prescale_factor: float = 1.0,
                                postscale_factor: float = 1.0) -> int:
    """``reducescatter_async`` of several tensors, perhaps of different types, as one operation: it
    begins when all ranks have submitted all of them. ``synchronize`` returns a tuple."""
    tensors = engine_tensors.all_dense(engine_tensors.listed(tensors))
    parts = _submit(tensors, name, op, prescale_factor, postscale_factor, process_set)
    return handles.register([parts[0].handle],
                            lambda: engine_tensors.all_from_gathered(parts, tensors), tensors)


class _GroupedReducescatter(torch.autograd.Function):
    """Gathers every rank's rows of each gradient as a group, scaled as the values were."""

    @staticmethod
    def forward(ctx, name, op, process_set, prescale, postscale, *tensors):
        ctx.process_set = process_set
        ctx.factor = gradient_factor(op, prescale, postscale, process_set)
        return handles.synchronize(grouped_reducescatter_async(tensors, name, op, process_set,
                                                               prescale, postscale))

    @staticmethod
    def backward(ctx, *gradients):
        gathered = grouped_allgather([gradient.contiguous() for gradient in gradients],
                                     process_set=ctx.process_set)
        return (None,) * 5 + tuple(whole * ctx.factor for whole in gathered)


def grouped_reducescatter(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                          compression=Compression.none, op: int = reduce_op.Average,
                          process_set: ProcessSet = global_process_set,
                          prescale_factor: float = 1.0, postscale_factor: float = 1.0
                          ) -> Tuple[torch.Tensor, ...]:
    """Returns this rank's rows of each of the combinations. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    tensors = engine_tensors.listed(tensors)
    pairs = [single_of(compression).compress(tensor) for tensor in tensors]
    compressed = [tensor for tensor, _ in pairs]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in compressed):
        parts = _GroupedReducescatter.apply(name, op, process_set, prescale_factor,
                                            postscale_factor, *compressed)
    else:
        parts = handles.synchronize(grouped_reducescatter_async(
            compressed, name, op, process_set, prescale_factor, postscale_factor))
    return tuple(compression.decompress(part, context)
                 for part, (_, context) in zip(parts, pairs))
