"""DistributedOptimizer: the wrapped optimizer, on gradients that all ranks share."""

import warnings
from typing import Any, Iterable, Optional, Tuple

import torch

from weir import _job
from weir._process_groups import set_of
from weir._process_sets import global_process_set
from weir.errors import InvalidArgument
from weir.torch._compression.compression import Compression
from weir.torch._compression.options import averaging_compressor, choice_of
from weir._ops import reduce_op
from weir.torch._optimizer.adasum import AdasumDistributed
from weir.torch._optimizer.cross_barrier import CrossBarrier, check_order
from weir.torch._optimizer.parameter_slot import checked_passes
from weir.torch._optimizer.step import Distributed
from weir.torch._optimizer.wrapping import check_wrappable, checked_names, exchanging, mixed


def _refuse_if_strict(what: str) -> None:
    """Refuses an accepted argument without effect."""
    if _job.engine().strict:
        raise InvalidArgument(f"strict settings (--strict, WEIR_STRICT): {what}")


def DistributedOptimizer(optimizer: torch.optim.Optimizer,
                         named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None,
                         compression: Any = Compression.none, backward_passes_per_step: int = 1,
                         op: int = reduce_op.Average, gradient_predivide_factor: float = 1.0,
                         num_groups: int = 0, groups: Any = None, sparse_as_dense: bool = False,
                         process_set: Any = global_process_set,
                         cross_barrier: bool = False) -> torch.optim.Optimizer:
    """Returns the optimizer, as an instance of a class below its own, whose ``step()`` applies
    gradients that are combined over all ranks. Collective.

    The exchange of a gradient starts when its backward pass is complete, and runs beside the rest. When
    ``backward()`` returns, ``.grad`` holds what all ranks share, unless more passes of the step are
    expected, the exchange cannot be taken back, or ``WEIR_DROPPED_PASSES=0``: then ``step()`` or
    ``synchronize()`` finishes it.

    compression: ``Compression.none``, ``.fp16``, ``.bf16``, ``.topk(...)``, ``.powersgd(...)``,
        ``.dgc(...)``, a text as in ``WEIR_COMPRESSION``, such as ``"dgc"``, or a dictionary of options,
        also for tensors by name: ``{"compressor": "dgc", "overrides": {"*.bias": {"compressor":
        "dense"}}}``. With ``dgc`` and SGD, momentum, Nesterov and weight decay move into the compressor;
        with ``momentum="adam"``, the moments of Adam and AdamW; with another optimizer the unsent part
        accumulates without momentum correction. ``signum``, and other compressors with
        ``momentum="nesterov"``, also take over SGD's momentum. Or a ``Compressor`` of the program's own,
        which gets every dense gradient by itself; those are not fused.
    op: Average or Sum of the gradients; Min, Max and Product too, without compression. With
        Adasum every rank takes a step on its own gradients, and the moves of the parameters are
        combined; compression is then none, fp16, bf16 or the program's own.
    backward_passes_per_step: number of backward passes whose gradients are summed before the exchange.
    gradient_predivide_factor: for Average, gradients are divided by it before and by
        size / it after they are summed. It has no effect with compressors other than fp16, bf16
        and powersgd, whose averages are not made of such sums.
    process_set: the ranks that train together, as a set or a process group of torch.distributed; "all
        ranks" means those. On any other rank the optimizer takes its steps alone.
    cross_barrier: ``step()`` does not wait; the next forward pass does, layer by layer, for the update of the
        layer's own parameters, and hides what is left of the exchange. After ``step()`` ``.grad`` is
        None. Tensors on the CPU, and optimizers of ``torch.optim`` that treat parameters one by one.
    num_groups, groups: accepted; the engine fuses gradients by itself. Strict settings refuse them.

    Raises ValueError for arguments that contradict each other, HorovodInternalError where ranks
    differ.
    """
    check_wrappable("DistributedOptimizer", optimizer)
    if gradient_predivide_factor != 1.0 and op != reduce_op.Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if num_groups:
        warnings.warn("Parameter `num_groups` has been replaced by `groups` and will be removed",
                      DeprecationWarning, stacklevel=2)
    if num_groups < 0 or not (groups is None or isinstance(groups, (int, list, tuple))):
        raise ValueError("groups should be a non-negative integer or a list of list of "
                         "torch.Tensor.")
    if not gradient_predivide_factor > 0:
        raise ValueError(f"gradient_predivide_factor={gradient_predivide_factor!r}: give a number "
                         "above 0")
    if num_groups or groups:
        _refuse_if_strict("groups= and num_groups= have no effect: the engine fuses gradients by "
                          "itself")
    reduce_op.chosen(op)
    passes = checked_passes(backward_passes_per_step)
    named = checked_names(optimizer, named_parameters)
    process_set = set_of(process_set)
    process_set._check_registered("DistributedOptimizer")
    if op == reduce_op.Adasum:
        if cross_barrier:
            raise ValueError("cross_barrier=True with op=Adasum, which combines moves of all parameters: leave "
                             "one of them out")
        by_moves = mixed(AdasumDistributed, optimizer)
        by_moves._weir_init(compression, passes, process_set)
        return by_moves
    choice = choice_of(compression)
    options = choice.options
    compressor = averaging_compressor(options)
    if compressor and op != reduce_op.Average:
        raise ValueError(f"gradients that are compressed by {compressor!r} are averaged: leave op "
                         "out, and give the learning rate the factor that a sum would give")
    if isinstance(optimizer, torch.optim.LBFGS) and (compressor or choice.own):
        raise ValueError("LBFGS computes losses and gradients several times in a step, and compares "
                         f"them; compressed by {compressor or 'code of the program'!r} they would be "
                         "of different steps. Leave the compression out")
    if compressor and gradient_predivide_factor != 1.0:
        _refuse_if_strict("gradient_predivide_factor has no effect on gradients that are "
                          f"compressed by {compressor!r}")
    if cross_barrier:
        check_order(optimizer)
    return exchanging(CrossBarrier if cross_barrier else Distributed, optimizer, named, choice, passes, op,
                      gradient_predivide_factor, sparse_as_dense, process_set)
