"""Hooks in PyTorch that tell an optimizer about every gradient, during backpropagation."""

import weakref
from typing import Any, Callable, Optional

from weir import _job
from weir.torch._optimizer import backward_passes, dropped_passes, look_ahead, submission
from weir.torch._optimizer.parameter_slot import Slot
from weir.torch._optimizer.step_state import State

_TOO_MANY = ("Gradients were computed more than backward_passes_per_step times before call to "
             "step(). Increase backward_passes_per_step to accumulate gradients locally.")


def attach(optimizer: Any, slot: Slot) -> None:
    """Makes the optimizer learn of every backward pass through the parameter."""
    # The node that accumulates into .grad: after it, the gradient is complete.
    expanded: Any = slot.parameter.expand_as(slot.parameter)
    node = expanded.grad_fn.next_functions[0][0]
    # This reference keeps the node alive.
    optimizer._weir_hooks.append((node, node.register_hook(called_for(optimizer, slot))))


def called_for(optimizer: Any, slot: Slot, call: Optional[Callable[[Any, Slot], None]] = None) -> Callable[..., None]:
    """Returns a hook to be called when a backward pass has added to the gradient; it handles that, or calls
    `call`."""
    handle = call or _accumulated
    owner = weakref.ref(optimizer)  # A hook must not keep an optimizer that nobody else has.

    def hook(*_: Any) -> None:
        found = owner()
        # A model may also be used without a job.
        if found is not None and _job.is_initialized():
            handle(found, slot)

    return hook


def _accumulated(optimizer: Any, slot: Slot) -> None:
    """Handles a backward pass that has added to the gradient. The last one of a step starts its
    exchange."""
    if slot.plan.look_ahead:
        look_ahead.check_used(optimizer, slot)
    if optimizer._weir_state is State.EARLY and backward_passes.add_late(optimizer, slot):
        return
    if slot.sent is not None or slot.fired:
        _check_again(optimizer, slot)
    optimizer._weir_state = State.OPEN
    optimizer._weir_revisits.touched = True
    slot.fired += 1
    slot.note_content()
    if optimizer._weir_compresses:
        optimizer._weir_note_scale()
    slot.complete = slot.fired >= slot.due
    if (slot.complete and slot.sparse_dim is not None and not optimizer._weir_holds_back
            and not optimizer._weir_expectation.drop and not optimizer._weir_awaits_step
            and (not optimizer._weir_drops or optimizer._weir_can_drop and slot.exchange.can_drop)):
        submission.submit_ahead(optimizer, slot)


def _check_again(optimizer: Any, slot: Slot) -> None:
    """Called for a further pass: what is under way is dropped, or taken back. Raises AssertionError if
    neither is possible."""
    if slot.forgotten:
        dropped_passes.drop(optimizer)
    too_many = slot.fired >= optimizer._weir_passes and not _job.engine().dropped_passes
    if slot.submitted and slot.apart and not too_many:
        dropped_passes.take_back(optimizer)
    if slot.submitted or too_many:
        raise AssertionError(_TOO_MANY)
