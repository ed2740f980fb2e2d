"""The steps of an optimizer whose gradients DistributedDataParallel hands over, bucket by bucket."""

from typing import Any, Callable

import torch

from weir.torch._optimizer import (
    backward_passes, dropped_passes, first_step, look_ahead, submission)
from weir.torch._optimizer.parameter_slot import REGULAR, Slot
from weir.torch._optimizer.step import Distributed
from weir.torch._optimizer.step_state import State

_NOT_EXCHANGED = ("step() with gradients that DistributedDataParallel has not exchanged: their backward "
                  "pass was under no_sync(), or did not go through the model that compress() was given; "
                  "the last pass before step() has to")


class ByBuckets(Distributed):
    """An optimizer whose exchange ends with every backward pass through the wrapped model."""

    _weir_layout: Any = None  # How DistributedDataParallel had its buckets when gradients were noted.
    _weir_layout_now: Callable[[], Any]
    _weir_may_be_left_out = False  # DistributedDataParallel may leave results out.
    _weir_late_pass_text = (
        "a backward pass adds to gradients that all ranks share already, and the steps before had fewer "
        "passes, or clip_grad_norm_ came before it: put all passes of a step but the last under "
        "model.no_sync(), or call step() in between")

    def _weir_attach(self, slot: Slot) -> None:
        """DistributedDataParallel tells about the gradients."""

    def synchronize(self) -> None:
        """Does nothing: gradients are shared when ``backward()`` returns."""
        if self._weir_state is State.EARLY:
            self._weir_settle(self._weir_scale.last_factor)
            self._weir_state = State.SYNCHRONIZED

    def _weir_synchronize_early(self) -> None:
        """There is nothing left to do."""

    def _weir_say_ready(self) -> None:
        """With DistributedDataParallel all ranks end every pass together."""

    def _weir_synchronize_late(self) -> None:
        # Zeros are nothing to exchange; PyTorch makes an optimizer's state with them.
        if self._weir_state is not State.SYNCHRONIZED and not all(
                slot.is_cleared for slot in self._weir_slots.values()):
            raise ValueError(_NOT_EXCHANGED)

    def _weir_check_contents(self) -> None:
        """Nobody else had the gradients in between."""

    def _weir_lacks(self, slot: Slot) -> bool:
        return not slot.fired

    def _weir_take(self, slot: Slot, gradient: torch.Tensor, is_used: bool) -> None:
        """Takes the place of a gradient that a backward pass has completed; the result replaces it in
        ``_weir_finish_pass``. `is_used`: this rank has one, not zeros. Collective if the pass follows one
        whose exchange is finished."""
        now = self._weir_revisits
        if self._weir_state is State.EARLY:
            self._weir_go_on()
        if not now.touched:
            now.touched = True
            now.kept = self._weir_can_drop and (now.expects_more or self._weir_regular_steps < REGULAR)
        look_ahead.check_used(self, slot)
        if self._weir_compresses:
            self._weir_note_scale()
        self._weir_state = State.OPEN
        slot.view = gradient
        if not is_used:
            return  # The zeros wait for the end of the pass.
        slot.fired += 1
        slot.complete = True
        if now.kept:
            slot.other = gradient.clone()
        if first_step.is_over(slot) and not self._weir_holds_back:
            submission.submit(self, slot)

    def _weir_go_on(self) -> None:
        """Called when the pass adds to gradients that all ranks share already."""
        now = self._weir_revisits
        if now.given_back:
            now.expects_more = True
            backward_passes.take_back(self)
        else:
            backward_passes.begin_anew(self)

    def _weir_finish_pass(self) -> None:
        """Makes the gradients that were taken hold their results. Collective."""
        now = self._weir_revisits
        if not now.touched or self._weir_state is not State.OPEN:
            return  # It was finished together with another model's.
        now.passes.fired += 1
        if now.kept:
            for slot in self._weir_slots.values():
                if slot.view is None:  # Of another model, whose pass it was before.
                    slot.keep_gradient()
        self._weir_synchronize(early=True)
        self._weir_state = State.EARLY

    def _weir_keep_up(self) -> None:
        """Called for a pass that no step will follow, on this rank at least."""
        if self._weir_state is State.EARLY:
            dropped_passes.begin_step(self)
            self._weir_state = State.STEPPED

    def _weir_gradients_have_changed(self) -> bool:
        if self._weir_layout == self._weir_layout_now():
            return super()._weir_gradients_have_changed()
        # The gradients have moved with the buckets; what they were before tells about the program.
        slots = self._weir_slots.values()
        changed = any(slot.was_let_go for slot in slots)
        self._weir_note_contents()
        return changed

    def _weir_note_contents(self) -> None:
        self._weir_layout = self._weir_layout_now()
        for slot in self._weir_slots.values():
            slot.view = None
            slot.note_content()

    def _weir_end_pass(self, is_alone: bool) -> None:
        """Called when DistributedDataParallel has put the results into ``.grad``."""
        now = self._weir_revisits
        if now.failed:
            return
        if now.given_back:  # One under no_sync() has added to them.
            now.expects_more = True
            backward_passes.take_back(self)
        elif now.touched:
            if self._weir_may_be_left_out:
                self._weir_bring_in()
            self._weir_note_contents()

    @torch.no_grad()
    def _weir_bring_in(self) -> None:
        """Brings in results of parameters that no rank has used in the last pass: of passes before it, and
        of gradients that the program keeps as zeros, on which momentum acts as in one process."""
        for slot in self._weir_slots.values():
            gradient, view = slot.parameter.grad, slot.view
            if view is None or view.is_sparse or slot.index in slot.exchange.unused:
                continue
            if gradient is None:
                slot.parameter.grad = view.clone(memory_format=torch.preserve_format)
            elif gradient.data_ptr() != view.data_ptr() and not torch.equal(gradient, view):
                gradient.copy_(view)
