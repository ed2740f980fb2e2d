"""The steps of a DistributedOptimizer: the class that it puts before the wrapped optimizer's own."""

import contextlib
import threading
import warnings
from typing import TYPE_CHECKING, Any, ContextManager, Dict, FrozenSet, Iterable, Iterator, List, Optional, Tuple

import torch

from weir import _job
from weir._process_sets import ProcessSet
from weir._ops import reduce_op
from weir.torch._optimizer import (
    adam, backward_passes, dropped_passes, first_step, hooks, lbfgs, living, load_in_place, look_ahead,
    loss_scale, momentum, momentum_handover, readiness, registration, replicas, saved_state, skip_nonfinite,
    submission, unfinished, weight_decay)
from weir.torch._optimizer import early_readers, job_events  # noqa: F401  (They listen.)
from weir.torch._optimizer.exchange.averaging import reduction_of
from weir.torch._optimizer.exchange.fused import report_of
from weir.torch._optimizer.exchange.sparse import SparseExchange, make_sparse_again
from weir.torch._optimizer.parameter_slot import Slot, checked_passes
from weir.torch._optimizer.step_state import State

_TWICE = ("optimizer.step() called without optimizer.skip_synchronize() context after "
          "optimizer.synchronize(). This can cause training slowdown. You may want to consider "
          "using optimizer.skip_synchronize() context if you use optimizer.synchronize() in your "
          "code.")
_LATE_PASS = ("a backward pass adds to gradients that all ranks share already, and the steps before had "
              "fewer passes, or clip_grad_norm_, clip_grad_value_ or GradScaler.unscale_ came before it: "
              "give backward_passes_per_step=, or call step() in between")
_COMPILED = ("torch.compile() of an optimizer's step() loses what the step notes down for the next one: compile the "
             "model and the loss, and leave step() out")
_is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


if TYPE_CHECKING:  # The class it is mixed into.
    _Wrapped = torch.optim.Optimizer
else:
    _Wrapped = object


class Distributed(_Wrapped):
    """The steps of an optimizer on gradients that all ranks share."""

    # Attributes beside the optimizer's: all names begin with _weir.
    _weir_late_pass_text = _LATE_PASS
    _weir_finishes_in_backward = True  # Where nothing speaks against it.
    _weir_by_priority = False  # What the next forward pass needs first comes first.
    _weir_is_the_program_s = True  # It is told what becomes of its optimizer.
    _weir_saves_marks = False  # Entries without content (registration.mark_state).
    _weir_left_out: FrozenSet[torch.Tensor] = frozenset()  # Parameters that nobody exchanges.

    def _weir_init(self, named: Optional[List[Tuple[str, torch.Tensor]]], options: Dict[str, str],
                   chosen: bool, compressor: Any, passes: int, op: int, predivide: float,
                   sparse_as_dense: bool, process_set: ProcessSet) -> None:
        from weir import _core

        self._weir_name = f"DistributedOptimizer.{process_set._next_number('optimizer')}"
        if chosen:
            _job.engine().check_programs_choice(self._weir_name, options, process_set.rank() == 0)
        self._weir_process_set = process_set
        self._weir_is_member = bool(process_set.included())
        has_momentum = momentum.is_sgd_with_momentum(self)
        self._weir_options = options = _core.resolve_auto(options, has_momentum)
        replicas.check(options)
        self._weir_tensor_options = _core.TensorOptions(options)
        self._weir_compressor = compressor  # The program's own.
        self._weir_passes = passes
        self._weir_reduction = reduction_of(op, predivide)
        self._weir_sparse_as_dense = sparse_as_dense
        self._weir_given_names = {parameter: name for name, parameter in named or []}
        self._weir_slots: Dict[torch.Tensor, Slot] = {}
        self._weir_frozen: List[torch.Tensor] = []  # Parameters without a gradient so far.
        self._weir_adoptions = 0
        self._weir_has_new = True  # Parameters that are not registered, or whose first step is not over.
        self._weir_place = (0, 0, 0)  # Rank and size in the set; number of exchanges. Also after leaving.
        self._weir_exchanges: List[Any] = []
        self._weir_sparse = SparseExchange(self._weir_name, self._weir_reduction, process_set)
        self._weir_plans: List[momentum.Plan] = []
        self._weir_compresses = False
        self._weir_holds_back = False  # Until all gradients are known to be finite, or not.
        self._weir_thread = threading.get_ident()  # The one that trains.
        self._weir_renew_history()
        self._weir_awaits_step = False  # Nothing more is exchanged ahead of this step.
        self._weir_drops = True  # Settings allow to drop passes.
        self._weir_can_drop = False  # Whether an exchange that has begun can be taken back.
        self._weir_decay = weight_decay.WeightDecay()
        self._weir_hooks: List[Any] = []
        self._weir_state = State.STEPPED
        self._weir_has_joined = False  # Since the last step.
        self._weir_should_synchronize = True
        self._weir_scale = loss_scale.StepScale()
        self._weir_pending: Optional[saved_state.State] = None  # Loaded; restored before the next step.
        self._weir_true_weights: Optional[Dict[torch.Tensor, torch.Tensor]] = None  # Looking ahead.
        registration.adopt_new_parameters(self)
        living.add(self)

    def _weir_renew_history(self) -> None:
        """Forgets what was learnt from earlier steps."""
        self._weir_expectation = dropped_passes.Expectation()
        self._weir_regular_steps = 0  # In a row, each with as many passes as the one before.
        self._weir_revisits = backward_passes.Revisits()
        self._weir_readiness = readiness.Readiness()

    def _weir_say_ready(self) -> None:
        """Tells the other ranks, which may wait in ``backward()``, that this one has come as far."""
        if self._weir_can_drop:
            self._weir_readiness.say(self)

    def __deepcopy__(self, _: Any) -> Any:
        raise TypeError("a DistributedOptimizer is not copied: its parameters are exchanged under one "
                        "name on all ranks. Copy the model, and wrap an optimizer of the copy")

    def __reduce_ex__(self, _: Any) -> Any:
        raise TypeError("a DistributedOptimizer is not pickled, as it belongs to a job: save its state_dict()")

    # --- parameters ---

    def _weir_slot(self, name: str, parameter: torch.Tensor, group: int, adoption: int) -> Slot:
        """Returns the slot of a new parameter."""
        return Slot(name, parameter, group, adoption)

    def _weir_attach(self, slot: Slot) -> None:
        """Called for a new parameter: the optimizer is to learn of its gradients."""
        hooks.attach(self, slot)

    def _weir_leave(self) -> None:
        """Called when the job ends; the first step in another one registers again."""
        registration.leave(self)

    def __del__(self) -> None:
        unfinished.release(self.__dict__.get("_weir_exchanges", ()))

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if hasattr(self, "_weir_slots"):
            registration.adopt_new_parameters(self)

    # --- a step ---

    def synchronize(self) -> None:
        """Waits until every parameter's ``.grad`` holds the result that all ranks share.

        Parameters that got no gradient count as zeros, or keep none if they got none on any rank.
        Follow it with ``step()`` under ``skip_synchronize()``; the gradients may be changed in between.
        """
        backward_passes.take_back(self)  # If a pass has failed that had added to gradients.
        if self._weir_state is State.EARLY:
            self._weir_settle(self._weir_scale.last_factor)
        else:
            self._weir_synchronize(early=False)
        self._weir_state = State.SYNCHRONIZED

    def _weir_synchronize(self, early: bool) -> None:
        """`early`: the step may still be taken back; `_weir_settle` follows if it is taken."""
        if not self._weir_is_member:
            return
        self._weir_check_contents()
        self._weir_say_ready()
        try:
            self._weir_submit_all(early)
            self._weir_finish_exchanges()
            self._weir_forget_unused()
            self._weir_readiness.end_step()
        except BaseException:
            dropped_passes.begin_step(self)
            raise
        finally:
            self._weir_scale.end_step()
        if not early:
            self._weir_settle(self._weir_scale.last_factor)

    def _weir_submit_all(self, early: bool) -> None:
        if any(parameter.requires_grad for parameter in self._weir_frozen):
            registration.adopt_new_parameters(self)
        registration.register_new(self)
        if self._weir_has_joined:
            first_step.recall(self)
            self._weir_has_joined = False
        first_step.settle(self)
        self._weir_holds_back = skip_nonfinite.must_agree(self)
        registration.note_exchanges(self)
        for exchange in self._weir_exchanges:
            exchange.loss_scale = self._weir_scale.value
        if self._weir_holds_back:
            skip_nonfinite.agree(self)
        self._weir_submit_rest(undoable=early and self._weir_can_drop)

    def _weir_finish_exchanges(self) -> None:
        for exchange in (*self._weir_exchanges, self._weir_sparse):
            exchange.finish()

    def _weir_settle(self, loss_scale: float) -> None:
        """Does what cannot be taken back: the step will be taken. `loss_scale`: of the gradients now."""
        dropped_passes.begin_step(self)
        self._weir_expectation.note(dropped=False)
        if not self._weir_skipped():
            weight_decay.add_outside(self, self._weir_slots.values(), loss_scale)
            momentum_handover.forget(self)

    def _weir_submit_rest(self, undoable: bool) -> None:
        """Begins the step, if no gradient has, tells which ones this rank lacks, and submits what is not
        under way."""
        saved_state.restore_pending(self)
        rest = [slot for slot in self._weir_slots.values() if slot.sent is None]
        lacking: Dict[Any, List[int]] = {exchange: [] for exchange in self._weir_exchanges}
        for slot in rest:
            if self._weir_lacks(slot) and not slot.sparse_dim:
                lacking[slot.exchange].append(slot.index)
        for exchange, indices in lacking.items():
            exchange.begin(undoable)
            exchange.note_unused(indices)
        for slot in rest:
            submission.submit(self, slot)

    def _weir_lacks(self, slot: Slot) -> bool:
        """True if this rank has no gradient of the parameter."""
        return slot.parameter.grad is None

    def _weir_check_contents(self) -> None:
        """Raises ValueError if the program has changed gradients; drops those that it has let go of."""
        if all(slot.is_untouched for slot in self._weir_slots.values()):
            return
        for slot in self._weir_slots.values():
            slot.check_content()
        dropped_passes.drop_forgotten(self)

    def _weir_forget_unused(self) -> None:
        """Leaves parameters without a gradient that no rank has used."""
        for exchange in self._weir_exchanges:
            for slot in self._weir_slots.values() if exchange.unused else ():
                if slot.exchange is exchange and slot.index in exchange.unused:
                    slot.parameter.grad = None

    @property
    def step_report(self) -> Any:
        """Returns the engine's report of the last step, or None. Waits for remaining work of a GPU."""
        return report_of(self._weir_exchanges)

    def _weir_skipped(self) -> bool:
        return any(exchange.skipped() for exchange in self._weir_exchanges)

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """Keeps ``step()`` inside from calling ``synchronize()``: it was called already."""
        self._weir_should_synchronize = False
        try:
            yield
        finally:
            self._weir_should_synchronize = True

    def step(self, closure: Any = None) -> Any:
        """Exchanges the remaining gradients, and lets the wrapped optimizer take its step.

        A closure is evaluated once, before the exchange; by LBFGS as often as it likes, each time with
        an exchange of its own. A step that is skipped on all ranks (``skip_nonfinite``) changes nothing.
        """
        if _is_compiling():
            raise TypeError(_COMPILED)  # TorchDynamo leaves the step to Python, or says why it cannot.
        if isinstance(self, torch.optim.LBFGS):
            replicas.warn_of_none(self)
            return super().step(lbfgs.shared(self, closure))
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._weir_thread = threading.get_ident()
        backward_passes.take_back(self)
        if self._weir_state is State.EARLY:
            self._weir_settle(1.0)  # A scaler has unscaled them.
        elif self._weir_should_synchronize:
            self._weir_synchronize_late()
        self._weir_state = State.STEPPED
        if self._weir_skipped():
            return loss
        self._weir_verify()
        make_sparse_again(self)
        result = self._weir_update(self._weir_slots.values())
        return result if closure is None else loss

    def _weir_verify(self) -> None:
        replicas.verify(self, steps_under_way=1)

    def _weir_update(self, slots: Iterable[Slot]) -> Any:
        """Lets the wrapped optimizer take its step; `slots` are those that have a gradient."""
        with adam.applied(self, slots), momentum.taken_away(self):
            return super().step()

    def _weir_synchronize_late(self) -> None:
        """Called by ``step()`` while the exchange is not finished, or was finished by the program."""
        if self._weir_state is State.SYNCHRONIZED:
            warnings.warn(_TWICE, stacklevel=3)
        self.synchronize()

    def zero_grad(self, *arguments: Any, **keywords: Any) -> None:
        """Calls the wrapped optimizer's. Gradients that were computed since the last ``step()`` are
        dropped, on all ranks, and leave no trace in compressors. With ``WEIR_DROPPED_PASSES=0``
        raises AssertionError instead."""
        self._weir_thread = threading.get_ident()
        if self._weir_state is State.EARLY:
            dropped_passes.drop_finished(self)
        elif dropped_passes.are_there(self):
            dropped_passes.drop(self)
        self._weir_state = State.OPEN
        loss_scale.between_passes()
        super().zero_grad(*arguments, **keywords)

    def looking_ahead(self) -> ContextManager[None]:
        """Context for the forward and backward passes of a step: with the option ``look_ahead``
        gradients are computed ahead inside; without it, no effect."""
        return look_ahead.shifted(self)

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Sets how many backward passes go into one step, from now on."""
        self._weir_passes = checked_passes(passes)
        for slot in self._weir_slots.values():
            slot.due = passes

    # --- a loss scale ---

    def set_grad_scaler(self, scaler: Any) -> None:
        """Names the scaler of the loss. Not needed for ``torch.amp.GradScaler``, only for scalers of
        another kind that have its ``get_scale()`` and ``is_enabled()``."""
        self._weir_scale.scaler = scaler

    @property
    def _step_supports_amp_scaling(self) -> bool:
        # GradScaler.step asks this first, before it touches any gradient.
        self._weir_synchronize_early()
        self._weir_scale.check_scaler_step(self._weir_compresses)
        return bool(self.__dict__.get("_step_supports_amp_scaling", False))

    def _weir_synchronize_early(self) -> None:
        """Called at the end of the backward pass, or before a function of PyTorch looks at gradients;
        ``step()`` then knows."""
        backward_passes.take_back(self)
        if self._weir_state is State.OPEN and self._weir_is_member:
            self._weir_synchronize(early=True)
            for slot in self._weir_slots.values():
                slot.note_content()
            self._weir_state = State.EARLY

    def _weir_note_scale(self) -> None:
        """Called with every gradient that will be compressed: without compression, results carry the same
        factor as gradients."""
        self._weir_scale.note(self._weir_exchanges, lambda: first_step.is_under_way(self))

    def _weir_gradients_have_changed(self) -> bool:
        """True if the program has changed gradients, or let go of any, since their exchange was finished."""
        return any(slot.has_changed for slot in self._weir_slots.values())

    def _weir_end_pass(self, is_alone: bool) -> None:
        """Called at the end of each backward pass of the process, whoever's parameters had a part in it.
        `is_alone`: only this optimizer's."""
        backward_passes.end(self, is_alone)

    def _weir_check_late_pass(self) -> None:
        """Called when a backward pass adds to a gradient that all ranks share already."""
        if self._weir_compresses or self._weir_reduction.op != reduce_op.Average:
            raise ValueError(self._weir_late_pass_text)

    def _weir_apply_late(self) -> None:
        """Applies updates that ``step()`` has left for later (cross_barrier)."""

    # --- checkpoints ---

    def state_dict(self) -> Dict[str, Any]:
        """Returns the wrapped optimizer's state, and under "weir" this rank's unsent part."""
        found = super().state_dict()
        found["state"] = {key: entries for key, entries in found["state"].items()
                          if self._weir_saves_marks or not isinstance(entries, dict) or entries}
        found["weir"] = self._weir_unsent()
        return found

    def _weir_unsent(self) -> saved_state.State:
        if self._weir_state is State.EARLY:
            warnings.warn("state_dict() between a backward pass and step() has the pass in the compressor's "
                          "memory: call it after step(), or zero_grad() first if the pass is to be dropped",
                          stacklevel=3)
        return saved_state.save(self)

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores a ``state_dict``.

        Every rank must load, its own state or rank 0's; or rank 0 loads and all call
        ``broadcast_optimizer_state``. The next step is the first that needs the other ranks. The
        momentum of training without compression continues in a compressor. A compressor's memory is
        left out, with a warning, if this optimizer has another compressor or none. Raises ValueError
        for the state of an optimizer that was made differently.
        """
        saved = self.__dict__.pop("_weir_own_part", state_dict.get("weir"))  # A trainer has put it there.
        if saved is not None:
            saved = saved_state.fitting(self, saved)
        if saved is None:
            momentum_handover.check(self, state_dict)
        with load_in_place.kept(self):
            super().load_state_dict({key: value for key, value in state_dict.items()
                                     if key != "weir"})
        registration.mark_state(self)
        self._weir_pending = saved
