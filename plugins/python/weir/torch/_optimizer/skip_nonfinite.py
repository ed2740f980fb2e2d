"""Gradients that are inf or NaN on any rank, if several exchanges make up one step.

A single group of gradients decides on its own, in the engine, whether to skip its step. Several must
decide as one: a partly taken step could be neither kept nor undone.
"""

from typing import Any

import torch

from weir._ops import reduce_op
from weir.torch._ops.allreduce import allreduce_


def must_agree(optimizer: Any) -> bool:
    """True if gradients are held back until all of them are known to be finite, or not."""
    exchanges = optimizer._weir_exchanges
    return (any(exchange.skips_nonfinite for exchange in exchanges)
            and len(exchanges) + bool(optimizer._weir_sparse) > 1)


@torch.no_grad()
def agree(optimizer: Any) -> None:
    """Makes all gradients inf when one is not finite on any rank, so that every exchange is skipped.
    Collective."""
    gradients = [slot.gradient for slot in optimizer._weir_slots.values()]
    finite = all(gradient is None or bool(_values(gradient).isfinite().all())
                 for gradient in gradients)
    bad = torch.tensor([0 if finite else 1], dtype=torch.int32)
    if not allreduce_(bad, name=f"{optimizer._weir_name}/nonfinite", op=reduce_op.Sum,
                      process_set=optimizer._weir_process_set).item():
        return
    for slot in optimizer._weir_slots.values():
        if slot.sparse_dim:
            continue  # Not skipped itself, but all others are, which is enough.
        if slot.gradient is None:
            slot.parameter.grad = torch.zeros_like(slot.parameter)
        slot.gradient.fill_(float("inf"))


def _values(gradient: torch.Tensor) -> torch.Tensor:
    return gradient._values() if gradient.is_sparse else gradient
