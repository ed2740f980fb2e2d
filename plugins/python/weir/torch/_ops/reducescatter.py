"""Reduce-scatter: each rank gets its rows of the combination of all ranks' tensors."""

from typing import Optional

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.torch._compression.compression import Compression
from weir.torch._compression.compressors import single_of
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import engine_tensors
from weir.torch._ops.allgather import allgather


def reducescatter_async(tensor: torch.Tensor, name: Optional[str] = None,
                        op: int = reduce_op.Average,
                        process_set: ProcessSet = global_process_set,
                        prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> int:
    """Starts a reduce-scatter; returns a handle for ``synchronize`` and ``poll``.

    Tensors have the same shape and type on all ranks. The rows of the combination are divided among the
    ranks in their order; the first ones get one more if the number does not divide. Factors and types
    as in ``allreduce_async``; ``op`` is Average or Sum.
    """
    dtype = engine_tensors.check_reduced(tensor)
    tensor = engine_tensors.dense(tensor)
    set_id = id_for(process_set, "REDUCESCATTER")
    part = _job.engine().reducescatter(
        operation_names.of("reducescatter", name, process_set), tensor.data_ptr(), dtype,
        tensor.shape, reduce_op.of_reducescatter(op), reduce_op.factor(prescale_factor),
        reduce_op.factor(postscale_factor), set_id, engine_tensors.place_of(tensor),
        engine_tensors.maker_for(tensor))
    return handles.register(
        [part.handle], lambda: engine_tensors.from_gathered(part, tensor), tensor)


def gradient_factor(op: int, prescale: float, postscale: float, process_set: ProcessSet) -> float:
    """Returns the factor of a gradient on its way back."""
    return prescale * postscale * (len(process_set.ranks) if op == reduce_op.Sum else 1)


class _Reducescatter(torch.autograd.Function):
    """Gathers every rank's rows of the gradient, scaled as the values were."""

    @staticmethod
    def forward(ctx, tensor, name, op, process_set, prescale, postscale):
        ctx.process_set = process_set
        ctx.factor = gradient_factor(op, prescale, postscale, process_set)
        return handles.synchronize(reducescatter_async(tensor, name, op, process_set, prescale,
                                                       postscale))

    @staticmethod
    def backward(ctx, gradient):
        gathered = allgather(gradient.contiguous(), process_set=ctx.process_set)
        return gathered * ctx.factor, None, None, None, None, None


def reducescatter(tensor: torch.Tensor, name: Optional[str] = None, compression=Compression.none,
                  op: int = reduce_op.Average, process_set: ProcessSet = global_process_set,
                  prescale_factor: float = 1.0, postscale_factor: float = 1.0) -> torch.Tensor:
    """Returns this rank's rows of the combination; see ``reducescatter_async``. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    engine_tensors.expect(tensor)
    compressed, context = single_of(compression).compress(tensor)
    if compressed.requires_grad and torch.is_grad_enabled():
        part = _Reducescatter.apply(compressed, name, op, process_set, prescale_factor,
                                    postscale_factor)
    else:
        part = handles.synchronize(reducescatter_async(
            compressed, name, op, process_set, prescale_factor, postscale_factor))
    return compression.decompress(part, context)
