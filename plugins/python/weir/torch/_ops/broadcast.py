"""Broadcast: every rank gets the root's tensor."""

from typing import Optional

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import allreduce, engine_tensors


def _submit(tensor: torch.Tensor, output: torch.Tensor, root_rank: int, name: Optional[str],
            process_set: ProcessSet) -> int:
    dtype = engine_tensors.check(tensor)
    set_id = id_for(process_set, "BROADCAST")
    process_set._check_root(root_rank)
    if output is not tensor and _job.rank() == root_rank:
        output.copy_(tensor)
    data = engine_tensors.dense(output)
    operation = _job.engine().broadcast(operation_names.of("broadcast", name, process_set),
                                        data.data_ptr(), dtype, data.shape, root_rank, set_id,
                                        engine_tensors.place_of(data))
    return handles.register([operation], lambda: engine_tensors.delivered(output, data), data)


class _Broadcast(torch.autograd.Function):
    """The root gets all of the gradient."""

    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.root_rank, ctx.process_set = root_rank, process_set
        return handles.synchronize(
            broadcast_async(tensor, root_rank, name, process_set))

    @staticmethod
    def backward(ctx, gradient):
        reduced = allreduce.allreduce(gradient.contiguous(), op=reduce_op.Average,
                                      process_set=ctx.process_set)
        if _job.rank() != ctx.root_rank:
            reduced = torch.zeros_like(reduced)
        return reduced, None, None, None


def broadcast_async(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                    process_set: ProcessSet = global_process_set) -> int:
    """Starts a broadcast into a new tensor; returns a handle for ``synchronize`` and ``poll``.

    ``root_rank`` is the rank in the whole job, also with a process set. Tensors are of the same
    shape and type on all ranks.

    Raises ValueError for a root that is not in the process set, for a tensor of an unsupported type,
    and for a name that is under way.
    """
    return _submit(tensor, engine_tensors.fresh(tensor), root_rank, name, process_set)


def broadcast_async_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
                     process_set: ProcessSet = global_process_set) -> int:
    """``broadcast_async`` into the tensor itself."""
    return _submit(tensor, tensor, root_rank, name, process_set)


def broadcast(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
              process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """Returns the root's tensor; see ``broadcast_async``. Differentiable.

    Raises HorovodInternalError when the ranks disagree or one of them is gone.
    """
    engine_tensors.expect(tensor)
    if tensor.requires_grad and torch.is_grad_enabled():
        return _Broadcast.apply(tensor, root_rank, name, process_set)
    return handles.synchronize(broadcast_async(tensor, root_rank, name, process_set))


def broadcast_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None,
               process_set: ProcessSet = global_process_set) -> torch.Tensor:
    """``broadcast`` into the tensor itself, which is returned. Not differentiable."""
    return handles.synchronize(broadcast_async_(tensor, root_rank, name, process_set))
