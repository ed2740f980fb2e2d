"""Batch normalisation over the batches of all ranks together (Ioffe and Szegedy, ICML 2015)."""

from typing import Any, List, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable

from weir._process_sets import ProcessSet, global_process_set
from weir._ops import reduce_op
from weir.torch._ops.allreduce import allreduce_


class SyncBatchNorm(torch.nn.modules.batchnorm._BatchNorm):
    """``torch.nn.BatchNorm1d``, ``2d`` or ``3d`` whose mean and variance are those of all ranks'
    batches, which may be of different sizes, also empty.

    Input: (batch, num_features) or (batch, num_features, ...), floating-point. Arguments are those
    of ``torch.nn.BatchNorm2d``, and the set of ranks that share their batches. In training every one of
    them has to run the module's forward and backward passes. While it is evaluated, and on a single
    rank, it is plain batch normalisation.

    The gradients of weight and bias are this rank's own; ``DistributedOptimizer`` combines them.

    Raises ValueError for an input of fewer than two dimensions or other than ``num_features``
    channels, and when all ranks together have one value per channel.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: Optional[float] = 0.1,
                 affine: bool = True, track_running_stats: bool = True,
                 process_set: ProcessSet = global_process_set, **factory: Any) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, **factory)
        self.process_set = process_set
        self._name = f"sync_batch_norm.{process_set._next_number('sync_batch_norm')}"

    def _check_input_dim(self, input: torch.Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"SyncBatchNorm: expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] != self.num_features:
            raise ValueError(f"SyncBatchNorm: the input has {input.shape[1]} channels, the module "
                             f"num_features={self.num_features}")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not self.training or self.process_set.size() == 1:
            return super().forward(input)
        self._check_input_dim(input)
        output, mean, variance, count = _Normalise.apply(
            input, self.weight, self.bias, self.eps, self._name, self.process_set)
        if self.track_running_stats:
            self._update_running_stats(mean, variance, count)
        return output

    @torch.no_grad()
    def _update_running_stats(self, mean: torch.Tensor, variance: torch.Tensor,
                              count: torch.Tensor) -> None:
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        share = (self.momentum if self.momentum is not None
                 else 1.0 / float(self.num_batches_tracked))
        unbiased = variance * (count / (count - 1))
        for running, new in ((self.running_mean, mean), (self.running_var, unbiased)):
            assert running is not None
            running.mul_(1 - share).add_(new.to(running.dtype), alpha=share)


def _channels(input: torch.Tensor) -> Tuple[List[int], List[int]]:
    """Returns the dimensions that are averaged over, and the shape of a value per channel beside them."""
    return ([i for i in range(input.dim()) if i != 1],
            [1, -1] + [1] * (input.dim() - 2))


def _statistics(input: torch.Tensor, name: str, process_set: ProcessSet
                ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns mean and variance, (channels,) in fp64, and the number of values per channel.

    Sums of squares in fp64 lose nothing that an fp32 input had.
    """
    dims, _ = _channels(input)
    count = input.numel() // input.shape[1] if input.shape[1] else 0
    packed = torch.zeros(2 * input.shape[1] + 1, dtype=torch.float64)
    if count:
        wide = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        variance, mean = (x.double().cpu() for x in torch.var_mean(wide, dims, correction=0))
        packed[:-1] = count * torch.cat([mean, variance + mean * mean])
        packed[-1] = count
    allreduce_(packed, name=f"{name}.statistics", op=reduce_op.Sum, process_set=process_set)
    total = packed[-1]
    if total <= 1:
        raise ValueError("SyncBatchNorm: expected more than 1 value per channel when training, got "
                         f"{int(total)} on all ranks together")
    mean, square = (packed[:-1] / total).chunk(2)
    return mean, (square - mean * mean).clamp_(min=0), total


class _Normalise(torch.autograd.Function):
    """The formulas are those of batch normalisation, with sums over all ranks in them."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, weight: Optional[torch.Tensor],
                bias: Optional[torch.Tensor], eps: float, name: str,
                process_set: ProcessSet) -> Any:
        mean, variance, count = _statistics(input, name, process_set)
        _, shape = _channels(input)
        wide = torch.promote_types(input.dtype, torch.float32)
        centre = mean.to(input.device, wide)
        inverse = (variance + eps).rsqrt().to(input.device, wide)  # 1 / standard deviation.
        output = (input.to(wide) - centre.view(shape)) * inverse.view(shape)
        if weight is not None:
            output = output * weight.to(wide).view(shape)
        if bias is not None:
            output = output + bias.to(wide).view(shape)
        ctx.save_for_backward(input, weight, centre, inverse)
        ctx.count, ctx.name, ctx.process_set = float(count), name, process_set
        ctx.mark_non_differentiable(mean, variance, count)
        return output.to(input.dtype), mean, variance, count

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> Any:
        input, weight, centre, inverse = ctx.saved_tensors
        dims, shape = _channels(input)
        dy = gradient.to(centre.dtype)
        xmu = input.to(centre.dtype) - centre.view(shape)
        sum_dy, sum_dy_xmu = dy.sum(dims), (dy * xmu).sum(dims)
        # The parameters' own gradients are summed with all others, not here.
        d_weight = (sum_dy_xmu * inverse).to(weight.dtype) if ctx.needs_input_grad[1] else None
        d_bias = sum_dy.to(gradient.dtype if weight is None else weight.dtype)
        # Also if this rank's input needs no gradient: the others' may.
        packed = torch.cat([sum_dy, sum_dy_xmu]).double().cpu()
        allreduce_(packed, name=f"{ctx.name}.gradients", op=reduce_op.Sum,
                   process_set=ctx.process_set)
        mean_dy, mean_dy_xmu = (packed / ctx.count).to(input.device, centre.dtype).chunk(2)
        dx = dy - mean_dy.view(shape) - xmu * (inverse * inverse * mean_dy_xmu).view(shape)
        scale = inverse if weight is None else inverse * weight.to(inverse.dtype)
        dx = (dx * scale.view(shape)).to(input.dtype)
        return (dx, d_weight, d_bias if ctx.needs_input_grad[2] else None, None, None, None)
