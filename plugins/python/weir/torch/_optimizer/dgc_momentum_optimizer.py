"""Deep Gradient Compression with Paddle's name and arguments."""

from typing import Any, Iterable, Optional, Sequence, Tuple

import torch

from weir import _job
from weir.torch._compression.compression import Compression
from weir.torch._optimizer.distributed_optimizer import DistributedOptimizer


def DGCMomentumOptimizer(params: Iterable[Any], learning_rate: float, momentum: float = 0.9,
                         rampup_begin_step: int = 0, rampup_step: int = 1,
                         sparsity: Sequence[float] = (0.999,), use_nesterov: bool = False,
                         num_trainers: Optional[int] = None, grad_clip: Any = None,
                         weight_decay: float = 0.0,
                         named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None
                         ) -> torch.optim.Optimizer:
    """``DistributedOptimizer`` of ``torch.optim.SGD`` with ``Compression.dgc``, in one call.
    Collective.

    params: parameters or parameter groups, as SGD takes them.
    rampup_begin_step: gradients stay dense before this step.
    rampup_step: steps of the warm-up, which the entries of ``sparsity`` share equally; the last
        one stays. Sparsity is the fraction that is not sent: 0.999 sends a thousandth.
    num_trainers: the number of ranks, only to be checked.
    grad_clip: a number, or an object with an attribute ``clip_norm``: the L2 norm to which the
        gradient over all parameters is clipped, on each rank by itself.
    weight_decay: SGD's, with momentum; it stays outside compression.

    Raises ValueError for a ``num_trainers`` that is not the number of ranks and for values without
    meaning, HorovodInternalError where ranks differ.
    """
    if num_trainers is not None and num_trainers != _job.size():
        raise ValueError(f"DGCMomentumOptimizer got num_trainers={num_trainers} in a job of "
                         f"{_job.size()} ranks: give that number, or leave it out")
    optimizer = torch.optim.SGD(params, lr=learning_rate, momentum=momentum, nesterov=use_nesterov,
                                weight_decay=weight_decay)
    compression = Compression.dgc(rampup_begin_step=rampup_begin_step, rampup_step=rampup_step,
                                  sparsity=list(sparsity), clip_norm=_clip_norm(grad_clip))
    return DistributedOptimizer(optimizer, named_parameters, compression)


def _clip_norm(grad_clip: Any) -> Optional[float]:
    if grad_clip is None:
        return None
    norm = getattr(grad_clip, "clip_norm", grad_clip)
    try:
        return float(norm)
    except (TypeError, ValueError):
        raise ValueError(f"DGCMomentumOptimizer got grad_clip={grad_clip!r}: give a number, or an "
                         "object whose attribute clip_norm is one") from None
