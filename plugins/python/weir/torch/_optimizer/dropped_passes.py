"""Backward passes whose gradients the program drops: ``zero_grad()``, and no ``step()`` before it.

The exchange of a gradient begins during its backward pass, when nobody knows yet whether a step will
follow. The engine takes such an exchange back. A program that drops passes in a pattern, as a GAN does,
shows it soon; the gradients of a pass that will probably be dropped are held back until ``step()``.
"""

from typing import Any, Dict

import torch

from weir import _job
from weir._ops import handles
from weir.torch._optimizer.exchange.fused import FusedExchange
from weir.torch._optimizer.step_state import State

_REFUSED = ("optimizer.zero_grad() was called after loss.backward() but before optimizer.step() "
            "or optimizer.synchronize(). This is prohibited as it can cause a race condition.")

_PAST = 16    # Longest pattern that is recognised.
_PATIENCE = 3  # Passes held back for nothing, after which they are not any more.


class Expectation:
    """Tells, from what became of earlier passes, whether the coming one will be dropped. Ranks that take
    and drop the same passes expect the same."""

    def __init__(self) -> None:
        self._past = ""  # "s" for each step, "d" for each dropped pass.
        self._doubts: Dict[str, int] = {}  # Ends of the past that a dropped pass has followed.
        self.drop = False

    def note(self, dropped: bool) -> None:
        """Notes what became of the pass."""
        for end in [end for end in self._doubts if self._past.endswith(end)]:
            self._doubts[end] += 0 if dropped else -1
            if self._doubts[end] == 0:
                del self._doubts[end]
        if dropped and self._past:
            self._doubts[self._past] = _PATIENCE
        self._past = (self._past + ("d" if dropped else "s"))[-_PAST:]
        self.drop = any(self._past.endswith(end) for end in self._doubts)


def are_there(optimizer: Any) -> bool:
    """True if any gradient has come since the last step, or drop."""
    return any(slot.fired or slot.submitted for slot in optimizer._weir_slots.values())


def drop(optimizer: Any) -> None:
    """Gives up the gradients that have come since the last step. Collective if any of them is under
    way: waits for all ranks.

    Raises AssertionError if settings do not allow it, HorovodInternalError if another rank takes a
    step with gradients of the same pass.
    """
    slots = list(optimizer._weir_slots.values())
    under_way = any(slot.submitted for slot in slots)
    if not _job.engine().dropped_passes and any(slot.complete for slot in slots):
        raise AssertionError(_REFUSED)
    try:
        if under_way:
            optimizer._weir_say_ready()
            _give_up(optimizer, slots)
            optimizer._weir_readiness.end_step()
    finally:
        begin_step(optimizer)
        optimizer._weir_scale.end_step()
    optimizer._weir_expectation.note(dropped=True)


def drop_forgotten(optimizer: Any) -> None:
    """Gives up gradients that the program has let go of by itself (``model.zero_grad()``), and that no
    backward pass has followed. Collective if there are any.

    Raises ValueError if it has kept others, whose memory the exchange has used.
    """
    slots = optimizer._weir_slots.values()
    let_go = next((slot for slot in slots if slot.forgotten), None)
    if let_go is None:
        return
    for slot in slots:
        if slot.submitted and not slot.forgotten and not slot.apart:
            raise ValueError(f"the gradient of '{let_go.name}' was let go of and that of '{slot.name}' "
                             "kept, after their backward pass: call optimizer.zero_grad() for all")
    drop(optimizer)


def drop_finished(optimizer: Any) -> None:
    """Takes back a step whose exchange is finished. Collective; raises as ``drop`` does."""
    if not optimizer._weir_drops:
        raise AssertionError(_REFUSED)
    _drop_finished(optimizer)
    begin_step(optimizer)
    optimizer._weir_expectation.note(dropped=True)


def _drop_finished(optimizer: Any) -> None:
    handles.all_of(exchange.drop_finished for exchange in optimizer._weir_exchanges)


def take_back_finished(optimizer: Any) -> None:
    """Takes back an exchange that the end of a backward pass has finished. The gradients are what this
    rank has computed, in that pass and in the next one. Collective."""
    _drop_finished(optimizer)
    for slot in optimizer._weir_slots.values():
        slot.sent, slot.apart = None, False
    optimizer._weir_state = State.OPEN


def begin_step(optimizer: Any) -> None:
    """Called when a step is over, or dropped: what comes belongs to the next one."""
    slots = optimizer._weir_slots.values()
    for slot in slots:
        slot.begin_step(optimizer._weir_passes)
    optimizer._weir_revisits.end_step()
    irregular = optimizer._weir_revisits.passes.irregular or any(slot.irregular for slot in slots)
    optimizer._weir_regular_steps = 0 if irregular else optimizer._weir_regular_steps + 1
    optimizer._weir_awaits_step = False


def take_back(optimizer: Any) -> None:
    """Takes back what is under way, and keeps the gradients, to which a further backward pass adds.
    They are exchanged in ``step()``. Collective."""
    slots = list(optimizer._weir_slots.values())
    _give_up(optimizer, slots)
    for slot in slots:
        slot.sent, slot.apart = None, False
    optimizer._weir_awaits_step = True


def _give_up(optimizer: Any, slots: Any) -> None:
    for slot in slots:
        if slot.submitted or isinstance(slot.exchange, FusedExchange):
            continue
        # Others may have one of it, and wait. The program's own may still be wanted (take_back).
        slot.exchange.submit(slot.index, torch.zeros_like(slot.local))
    handles.all_of(exchange.drop for exchange in (*optimizer._weir_exchanges,
                                                  optimizer._weir_sparse))
