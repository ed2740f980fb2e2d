"""All-reduce: every rank gets the combination of all ranks' tensors."""

from typing import Optional

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir.torch._compression.compression import Compression
from weir.torch._compression.compressors import single_of
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import engine_tensors


def _submit(tensor: torch.Tensor, output: torch.Tensor, name: Optional[str], op: int,
            prescale: float, postscale: float, process_set: ProcessSet) -> int:
    dtype = engine_tensors.check_reduced(tensor)
    data = engine_tensors.dense(tensor)
    into = engine_tensors.dense(output)
    set_id = id_for(process_set, "ALLREDUCE")
    operation = _job.engine().allreduce(
        operation_names.of("allreduce", name, process_set), data.data_ptr(), into.data_ptr(),
        dtype, tensor.shape, op, reduce_op.factor(prescale), reduce_op.factor(postscale), set_id,
        engine_tensors.place_of(tensor))
    return handles.register([operation], lambda: engine_tensors.delivered(output, into), (data, into))


class _Allreduce(torch.autograd.Function):
    """The gradient of a combination is combined in the same way."""

    @staticmethod
    def forward(ctx, tensor, name, op, prescale, postscale, process_set):
        ctx.arguments = (op, prescale, postscale, process_set)
        handle = _submit(tensor, engine_tensors.fresh(tensor), name, op, prescale, postscale,
                         process_set)
        return handles.synchronize(handle)

    @staticmethod
    def backward(ctx, gradient):
        op, prescale, postscale, process_set = ctx.arguments
        return (_Allreduce.apply(gradient.contiguous(), None, op, prescale, postscale,
                                 process_set), None, None, None, None, None)


def allreduce_async(tensor: torch.Tensor, average: Optional[bool] = None,
                    name: Optional[str] = None, op: Optional[int] = None,
                    prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts an all-reduce into a new tensor; returns a handle for ``synchronize`` and ``poll``.

    Every rank gives a tensor of the same shape and type (int32, int64, float16, bfloat16, float32
    or float64), and the same ``op`` and factors. Values are multiplied by ``prescale_factor``,
    combined, and multiplied by ``postscale_factor``. Integers are scaled in float64 and, like
    their Average, truncated toward zero; float16 and bfloat16 are combined in float32.

    Raises ValueError for a tensor of another type, for arguments that contradict each other, and for
    a name that is under way.
    """
    op = reduce_op.chosen(op, average)
    engine_tensors.expect(tensor)
    return _submit(tensor, engine_tensors.fresh(tensor), name, op, prescale_factor, postscale_factor,
                   process_set)


def allreduce_async_(tensor: torch.Tensor, average: Optional[bool] = None,
                     name: Optional[str] = None, op: Optional[int] = None,
                     prescale_factor: float = 1.0, postscale_factor: float = 1.0,
                     process_set: ProcessSet = global_process_set) -> int:
    """``allreduce_async`` into the tensor itself."""
    op = reduce_op.chosen(op, average)
    return _submit(tensor, tensor, name, op, prescale_factor, postscale_factor, process_set)


def allreduce(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None,
              compression=Compression.none, op: Optional[int] = None,
              prescale_factor: float = 1.0, postscale_factor: float = 1.0,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Returns the combination of all ranks' tensors; see ``allreduce_async``. Differentiable.

    ``compression`` casts the tensor while it is sent: ``Compression.fp16`` or ``.bf16``.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    op = reduce_op.chosen(op, average)
    engine_tensors.expect(tensor)
    compressed, context = single_of(compression).compress(tensor)
    if compressed.requires_grad and torch.is_grad_enabled():
        reduced = _Allreduce.apply(compressed, name, op, prescale_factor, postscale_factor,
                                   process_set)
    else:
        reduced = handles.synchronize(_submit(
            compressed, engine_tensors.fresh(compressed), name, op, prescale_factor, postscale_factor,
            process_set))
    return compression.decompress(reduced, context)


def allreduce_(tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None,
               op: Optional[int] = None, prescale_factor: float = 1.0,
               postscale_factor: float = 1.0,
               process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """``allreduce`` into the tensor itself, which is returned. Not differentiable."""
    return handles.synchronize(allreduce_async_(
        tensor, average, name, op, prescale_factor, postscale_factor, process_set))
