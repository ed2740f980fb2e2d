"""Several all-reduces as one operation: all of them or none."""

from typing import List, Optional, Sequence, Tuple

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.torch._compression.compression import Compression
from weir.torch._compression.compressors import single_of
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import engine_tensors


def _submit(tensors: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor],
            name: Optional[str], op: int, prescale: float, postscale: float,
            process_set: ProcessSet) -> int:
    data, into = engine_tensors.all_dense(tensors), engine_tensors.all_dense(outputs)
    inputs, dtypes, shapes = engine_tensors.crossing("all-reduce", data,
                                                     engine_tensors.check_reduced)
    set_id = id_for(process_set, "ALLREDUCE")
    operation = _job.engine().grouped_allreduce(
        operation_names.of("grouped_allreduce", name, process_set), inputs,
        [output.data_ptr() for output in into], dtypes, shapes, op, reduce_op.factor(prescale),
        reduce_op.factor(postscale), set_id,
        [engine_tensors.place_of(tensor) for tensor in tensors])
    return handles.register([operation], lambda: tuple(map(engine_tensors.delivered, outputs, into)),
                            (data, into))


def _fresh(tensors: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    return [engine_tensors.fresh(tensor) for tensor in tensors]


class _GroupedAllreduce(torch.autograd.Function):
    """The gradients of a group are combined as a group."""

    @staticmethod
    def forward(ctx, name, op, prescale, postscale, process_set, *tensors):
        ctx.arguments = (op, prescale, postscale, process_set)
        return handles.synchronize(_submit(tensors, _fresh(tensors), name, op, prescale,
                                           postscale, process_set))

    @staticmethod
    def backward(ctx, *gradients):
        dense = [gradient.contiguous() for gradient in gradients]
        return (None,) * 5 + tuple(_GroupedAllreduce.apply(None, *ctx.arguments, *dense))


def grouped_allreduce_async(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                            name: Optional[str] = None, op: Optional[int] = None,
                            prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                            process_set: ProcessSet = global_process_set) -> int:
    """``allreduce_async`` of several tensors, perhaps of different types, as one operation: it
    begins when all ranks have submitted all of them. ``synchronize`` returns a tuple."""
    op = reduce_op.chosen(op, average)
    tensors = engine_tensors.listed(tensors)
    return _submit(tensors, _fresh(tensors), name, op, prescale_factor, postscale_factor,
                   process_set)


def grouped_allreduce_async_(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                             name: Optional[str] = None, op: Optional[int] = None,
                             prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                             process_set: ProcessSet = global_process_set) -> int:
    """``grouped_allreduce_async`` into the tensors themselves."""
    op = reduce_op.chosen(op, average)
    tensors = engine_tensors.listed(tensors)
    return _submit(tensors, tensors, name, op, prescale_factor, postscale_factor,
                   process_set)


def grouped_allreduce(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                      name: Optional[str] = None, compression=Compression.none,
                      op: Optional[int] = None, prescale_factor: float = 1.0,
                      postscale_factor: float = 1.0,
                      process_set: ProcessSet = global_process_set) -> Tuple[torch.Tensor, ...]:
    """Returns the combination of each of the tensors over all ranks. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    op = reduce_op.chosen(op, average)
    tensors = engine_tensors.listed(tensors)
    pairs = [single_of(compression).compress(tensor) for tensor in tensors]
    compressed = [tensor for tensor, _ in pairs]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in compressed):
        reduced = _GroupedAllreduce.apply(name, op, prescale_factor, postscale_factor,
                                          process_set, *compressed)
    else:
        reduced = handles.synchronize(_submit(compressed, _fresh(compressed), name, op,
                                              prescale_factor, postscale_factor, process_set))
    return tuple(compression.decompress(tensor, context)
                 for tensor, (_, context) in zip(reduced, pairs))


def grouped_allreduce_(tensors: Sequence[torch.Tensor], average: Optional[bool] = None,
                       name: Optional[str] = None, op: Optional[int] = None,
                       prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                       process_set: ProcessSet = global_process_set) -> Tuple[torch.Tensor, ...]:
    """``grouped_allreduce`` into the tensors themselves. Not differentiable."""
    return handles.synchronize(grouped_allreduce_async_(
        tensors, average, name, op, prescale_factor, postscale_factor, process_set))
