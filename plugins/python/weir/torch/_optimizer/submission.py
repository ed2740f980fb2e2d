"""Submission of a complete gradient to its exchange, and additions to it before."""

from typing import Any, cast

import torch

from weir.torch._optimizer import momentum_handover, saved_state, weight_decay
from weir.torch._optimizer.exchange.fused import FusedExchange
from weir.torch._optimizer.parameter_slot import REGULAR, Slot


def submit_ahead(optimizer: Any, slot: Slot) -> None:
    """Sends a gradient off during a backward pass. Another one may follow that adds to it; so the result
    is kept apart from it, until many steps were alike."""
    saved_state.restore_pending(optimizer)
    gradient = slot.gradient
    if (optimizer._weir_regular_steps >= REGULAR or not optimizer._weir_drops or gradient is None
            or slot.sparse_dim):
        return submit(optimizer, slot)
    if gradient.is_sparse or not isinstance(slot.exchange, FusedExchange) or _is_added_to(optimizer, slot):
        return None  # Not before step().
    slot.sent, slot.apart = gradient, True
    return slot.exchange.submit(slot.index, gradient, apart=True)


def _is_added_to(optimizer: Any, slot: Slot) -> bool:
    """True if the gradient is changed before it is handed over."""
    plan = slot.plan
    return bool(plan.dampening or (plan.local and plan.weight_decay)
                or momentum_handover.is_due(optimizer, slot))


def submit(optimizer: Any, slot: Slot) -> None:
    """Hands a parameter's gradient to its exchange, or zeros if there is none.

    Raises ValueError for a sparse gradient if the ranks have agreed on a dense one.
    """
    saved_state.restore_pending(optimizer)
    gradient = slot.gradient  # Read once: a step has thousands of these.
    if gradient is None:
        # Unused in this step, but perhaps not on every rank.
        slot.parameter.grad = torch.zeros_like(slot.parameter)
        gradient = cast(torch.Tensor, slot.gradient)
    if not slot.sparse_dim:
        if gradient.is_sparse:
            if not optimizer._weir_sparse_as_dense:
                raise ValueError(
                    f"the gradient of '{slot.name}' is sparse and was dense in its first step "
                    "on all ranks: give sparse_as_dense=True")
            slot.given_sparse_dim = gradient.sparse_dim()
            slot.parameter.grad = gradient = gradient.to_dense()
        if slot.plan.local:
            weight_decay.add_local(optimizer, slot, gradient)
        if slot.plan.dampening and (slot.stepped or momentum_handover.is_due(optimizer, slot)):
            with torch.no_grad():
                gradient.mul_(1.0 - slot.plan.dampening)
        if slot.plan.taken:
            momentum_handover.add(optimizer, slot, gradient)
    slot.sent = gradient
    if slot.seen is not gradient or slot.version != gradient._version:
        slot.note_content()
    slot.exchange.submit(slot.index, gradient)
