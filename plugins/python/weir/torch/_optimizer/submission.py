"""Submission of a complete gradient to its exchange, and additions to it before."""

from typing import Any

import torch

from weir.torch._optimizer import momentum_handover, saved_state, weight_decay
from weir.torch._optimizer.parameter_slot import Slot


def submit(optimizer: Any, slot: Slot) -> None:
    """Hands a parameter's gradient to its exchange, or zeros if there is none.

    Raises ValueError for a sparse gradient if the ranks have agreed on a dense one.
    """
    saved_state.restore_pending(optimizer)
    parameter = slot.parameter
    gradient = parameter.grad  # Read once: a step has thousands of these.
    if gradient is None:
        # Unused in this step, but perhaps not on every rank.
        parameter.grad = gradient = torch.zeros_like(parameter)
    if not slot.sparse_dim:
        if gradient.is_sparse:
            if not optimizer._weir_sparse_as_dense:
                raise ValueError(
                    f"the gradient of '{slot.name}' is sparse and was dense in its first step "
                    "on all ranks: give sparse_as_dense=True")
            slot.given_sparse_dim = gradient.sparse_dim()
            parameter.grad = gradient = gradient.to_dense()
        weight_decay.add_local(optimizer, slot, gradient)
        if slot.plan.dampening and slot.exchange.next_step > 0:
            with torch.no_grad():
                gradient.mul_(1.0 - slot.plan.dampening)
        momentum_handover.add(optimizer, slot, gradient)
    slot.sent = gradient
    slot.note_content()
    slot.exchange.submit(slot.index, gradient)
