"""The ends of backward passes: from there on, gradients are those that all ranks share.

A program for one process may look at gradients between its backward pass and its step, or change them.
So the exchange ends with the backward pass, unless more passes of the step are expected. Where another
one comes nevertheless, the exchange is taken back, and the pass adds to what this rank had computed.
"""

import functools
import threading
from typing import Any, Callable

import torch

from weir._ops import handles
from weir.torch._optimizer import dropped_passes, living
from weir.torch._optimizer.parameter_slot import REGULAR, PassCount
from weir.torch._optimizer.step_state import State

_is_running = False
# -1 outside of backward passes; PyTorch 1 does not tell.
_graph_task: Callable[[], int] = getattr(torch._C, "_current_graph_task_id", lambda: 0 if _is_running else -1)


def _wrap() -> None:
    found = torch.autograd.backward  # Tensor.backward calls it, too.
    if getattr(found, "_weir_finishes", False):
        return

    @functools.wraps(found)
    def backward(*arguments: Any, **keywords: Any) -> None:
        global _is_running
        if _graph_task() != -1:  # Within another pass: checkpointing computes a layer anew.
            return found(*arguments, **keywords)
        # Not those that other threads train.
        optimizers = [one for one in living.in_order() if one._weir_thread == threading.get_ident()]
        for optimizer in optimizers:
            _begin(optimizer)
        _is_running = True
        try:
            found(*arguments, **keywords)
        except BaseException:
            for optimizer in optimizers:
                _leave(optimizer, failed=True)
            raise
        finally:
            _is_running = False
        touched = [optimizer for optimizer in optimizers if optimizer._weir_revisits.touched]
        for optimizer in optimizers:
            _leave(optimizer, failed=False)
        handles.all_of(functools.partial(optimizer._weir_end_pass, is_alone=touched == [optimizer])
                       for optimizer in optimizers)

    backward._weir_finishes = True  # type: ignore[attr-defined]
    torch.autograd.backward = backward


class Revisits:
    """What has to be known about a finished exchange when another backward pass comes."""

    def __init__(self) -> None:
        self.passes = PassCount()  # Those that have added to gradients of the optimizer.
        self.kept = False     # Slots have what this rank had computed.
        self.given_back = False  # Gradients hold that now, and slots the results.
        self.let_go = False   # The program has dropped the gradients by itself.
        self.touched = False  # The pass has added to a gradient.
        self.failed = False   # One that had added to gradients given back has failed.
        self.expects_more = False  # Passes have come before after the exchange was finished (by_buckets).

    def end_step(self) -> None:
        """Called when the step is taken, or dropped."""
        self.passes.end_step()
        self.kept = self.given_back = self.failed = False


def _begin(optimizer: Any) -> None:
    """Called before a backward pass, which may add to gradients whose exchange is finished."""
    now = optimizer._weir_revisits
    now.touched = now.let_go = False
    if optimizer._weir_state is not State.EARLY or now.failed:
        return
    slots = list(optimizer._weir_slots.values())
    if optimizer._weir_gradients_have_changed():
        now.kept = False
        now.let_go = all(slot.is_cleared for slot in slots)
    elif now.kept:
        exchange_contents(optimizer)


def end(optimizer: Any, is_alone: bool) -> None:
    """Called after a backward pass. Finishes the exchange if the gradients are complete. Collective.
    `is_alone`: the pass was for this optimizer's parameters only."""
    now = optimizer._weir_revisits
    if now.failed:
        return  # step() takes it up.
    if now.given_back:
        take_back(optimizer)
    if now.touched:
        now.passes.fired += 1
    if now.touched and optimizer._weir_state is State.OPEN and _are_complete(optimizer, is_alone):
        if not optimizer._weir_finishes_in_backward:
            optimizer._weir_note_complete()
            return
        if not optimizer._weir_readiness.are_all_there(optimizer):
            return
        finish(optimizer)


def finish(optimizer: Any) -> None:
    """Finishes the exchange, and keeps what this rank has computed if it may be taken back. Collective."""
    now = optimizer._weir_revisits
    now.kept = optimizer._weir_regular_steps < REGULAR
    if now.kept:
        for slot in optimizer._weir_slots.values():
            slot.keep_gradient()
    optimizer._weir_synchronize_early()


def _leave(optimizer: Any, failed: bool) -> None:
    """Called after a backward pass: gradients that it has not touched are what they were before."""
    now = optimizer._weir_revisits
    if now.given_back and not now.failed:
        if now.touched or optimizer._weir_gradients_have_changed():
            now.failed = failed
        else:
            exchange_contents(optimizer)


def take_back(optimizer: Any) -> None:
    """Takes back an exchange whose gradients were given back, and have been added to. Collective."""
    now = optimizer._weir_revisits
    if now.given_back:
        now.given_back = now.kept = now.failed = False
        dropped_passes.take_back_finished(optimizer)


def _are_complete(optimizer: Any, is_alone: bool) -> bool:
    passes = optimizer._weir_revisits.passes
    if not optimizer._weir_can_drop or passes.fired < max(passes.most, optimizer._weir_passes):
        return False
    # A pass through a critic is another optimizer's. One that is dropped although it was this one's was
    # for the program to look at (sharpness-aware minimisation).
    if optimizer._weir_expectation.drop and not is_alone:
        return False
    for slot in optimizer._weir_slots.values():
        gradient = slot.parameter.grad  # Read once: a step has thousands of these.
        if slot.fired and (gradient is None or gradient.requires_grad):
            return False  # The program will differentiate them.
    return True


@torch.no_grad()
def exchange_contents(optimizer: Any) -> None:
    """Exchanges the gradients with what slots have kept, in place where both have it."""
    for slot in optimizer._weir_slots.values():
        gradient, other = slot.parameter.grad, slot.other
        if gradient is None or other is None or gradient.is_sparse or other.is_sparse:
            slot.parameter.grad, slot.other = other, gradient
        else:
            slot.other = gradient.clone()
            gradient.copy_(other)
        slot.note_content()
    optimizer._weir_revisits.given_back = not optimizer._weir_revisits.given_back


def add_late(optimizer: Any, slot: Any) -> bool:
    """Called when a pass has added to a gradient whose exchange is finished. True if no more is to be
    done about it until the pass ends. Collective if the program has dropped the former gradients.

    Raises ValueError if the step cannot take up any more.
    """
    now = optimizer._weir_revisits
    now.touched = True
    if now.given_back:
        if optimizer._weir_compresses:
            optimizer._weir_note_scale()
        slot.fired += 1
        slot.note_content()
        return True
    begin_anew(optimizer)
    return False


def begin_anew(optimizer: Any) -> None:
    """Called when a pass has added to a gradient whose exchange stays finished, or was dropped by the
    program: what comes is a new exchange. Collective, and raises ValueError, as ``add_late``."""
    now = optimizer._weir_revisits
    if now.let_go:
        dropped_passes.drop_finished(optimizer)
        now.let_go = False
    else:
        optimizer._weir_check_late_pass()
        dropped_passes.begin_step(optimizer)
    optimizer._weir_state = State.OPEN


_wrap()  # Before the program takes it by name.
