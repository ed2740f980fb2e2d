"""A DistributedOptimizer whose ``step()`` does not wait for the exchange (cross-barrier).

The next forward pass waits instead, layer by layer, for the updates of the layer's own parameters (Peng et
al., ByteScheduler, SOSP 2019, section 4). So what is left of the exchange after the backward pass is hidden
behind the forward pass. Updates, and their order for each parameter, are those of an ordinary step.
"""

import threading
import weakref
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple

import torch

from weir import _job
from weir.errors import HorovodInternalError
from weir.torch._optimizer import (
    adam, backward_passes, dropped_passes, first_step, hooks, momentum_handover, weight_decay)
from weir.torch._optimizer.exchange.fused import FusedExchange
from weir.torch._optimizer.exchange.late_results import LateResults
from weir.torch._optimizer.late_updates import LateUpdate, LateUpdates
from weir.torch._optimizer.parameter_slot import Slot
from weir.torch._optimizer.parameter_watch import ParameterWatch
from weir.torch._optimizer.step import Distributed
from weir.torch._optimizer.step_state import State

_KNOWN = ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "ASGD", "Rprop",
          "Adafactor")
_UNKNOWN = ("cross_barrier=True lets the optimizer take its step for one layer after the other. That is right for "
            "{known} of torch.optim, and may not be for {name}: leave it out")
_READ_TOO_EARLY = (
    "'{name}' was used in a forward pass before its update had arrived: not by the forward() of the module that it "
    "belongs to, as in the steps before, nor by a function of PyTorch that is seen from outside. Call "
    "optimizer.synchronize() before such a use, or leave cross_barrier=True out")
_is_compiling: Callable[[], bool] = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)


def check_order(optimizer: torch.optim.Optimizer) -> None:
    """Raises ValueError for an optimizer whose step is not known to treat parameters one by one."""
    if not hasattr(torch.nn.Module, "register_state_dict_pre_hook"):
        raise ValueError("cross_barrier=True needs PyTorch 2")
    if not any(type(optimizer) is getattr(torch.optim, name, None) for name in _KNOWN):
        raise ValueError(_UNKNOWN.format(known=", ".join(_KNOWN[:-1]) + " and " + _KNOWN[-1],
                                         name=type(optimizer).__name__))


class CrossBarrier(Distributed):
    """An optimizer whose updates the next forward pass waits for."""

    _weir_finishes_in_backward = False
    _weir_by_priority = True

    def _weir_init(self, *arguments: Any) -> None:
        self._weir_late = LateUpdates()
        self._weir_runs_late = False  # In a step that does not wait.
        self._weir_results: Dict[Any, LateResults] = {}  # Of that step, by exchange.
        # Parameters of modules whose forward() has run since the last step, and those that were used without.
        self._weir_reached: Set[torch.Tensor] = set()
        self._weir_never_late: Set[torch.Tensor] = set()
        self._weir_watch = ParameterWatch(self)  # For what no module tells of.
        self._weir_is_complete = False  # All gradients of the step are there, and not looked at.
        super()._weir_init(*arguments)
        owner = weakref.ref(self)

        def before_forward(module: torch.nn.Module, _: Tuple[Any, ...]) -> None:
            found = owner()
            # A module that is compiled as a part of another one is not asked.
            if found is not None and not _is_compiling():
                found._weir_before_forward(module)

        handle = torch.nn.modules.module.register_module_forward_pre_hook(before_forward)
        weakref.finalize(self, handle.remove)

    def _weir_attach(self, slot: Slot) -> None:
        super()._weir_attach(slot)
        node: Any = self._weir_hooks[-1][0]
        check = hooks.called_for(self, slot, CrossBarrier._weir_check_update)
        self._weir_hooks.append((node, node.register_prehook(check)))

    # --- a forward pass ---

    def _weir_before_forward(self, module: torch.nn.Module) -> None:
        """Called before each forward() of a module: its own parameters are to be up to date."""
        if not self._weir_late:
            if not self._weir_is_complete:
                self._weir_watch.leave()
        elif type(module).__name__ == "OptimizedModule":  # What is compiled is not watched.
            self._weir_apply_late()
        own = [parameter for parameter in module._parameters.values() if parameter in self._weir_slots]
        if not own:
            return
        self._weir_reached.update(own)
        if self._weir_late:
            self._weir_apply(self._weir_late.take(own))

    def _weir_before_use(self, tensors: Iterator[torch.Tensor]) -> None:
        """Called before a function of PyTorch reads them."""
        if self._weir_late:
            self._weir_apply(self._weir_late.take(tensors))

    def _weir_note_complete(self) -> None:
        """Called at the end of a backward pass, if no further one is expected before ``step()``."""
        self._weir_is_complete = True
        self._weir_watch.enter()

    def _weir_before_gradient(self, parameter: torch.Tensor) -> None:
        """Called before the program reads a ``.grad``: it is to be what all ranks share."""
        if self._weir_is_complete and parameter in self._weir_slots:
            self._weir_is_complete = False
            backward_passes.finish(self)

    def _weir_synchronize_early(self) -> None:
        self._weir_is_complete = False
        super()._weir_synchronize_early()

    def zero_grad(self, *arguments: Any, **keywords: Any) -> None:
        self._weir_is_complete = False
        super().zero_grad(*arguments, **keywords)

    def _weir_check_update(self, slot: Slot) -> None:
        """Called when a backward pass reaches a parameter. Raises ValueError if the forward pass has used it
        before its update."""
        self._weir_is_complete = False
        if slot.parameter in self._weir_late:
            raise ValueError(_READ_TOO_EARLY.format(name=slot.name))
        if slot.parameter not in self._weir_reached:
            self._weir_never_late.add(slot.parameter)

    # --- a step ---

    def step(self, closure: Any = None) -> Any:
        """Exchanges the remaining gradients, and returns while they are under way; the next forward pass waits
        for each layer's update. ``.grad`` is None then.

        Waits, and applies all updates, where something needs the whole step: gradients that were looked at
        (clipping, a loss scale), hooks of the step, a closure, tensors on a GPU.
        """
        self._weir_is_complete = False
        self._weir_apply_late()  # What nothing has needed.
        if self._weir_state is State.STEPPED:
            self._weir_state = State.OPEN  # The program has made gradients without a backward pass.
        if closure is not None or not self._weir_may_run_late():
            result = super().step(closure)
            self._weir_reached.clear()
            return result
        self._weir_thread = threading.get_ident()
        backward_passes.take_back(self)
        self._weir_runs_late = True
        try:
            self._weir_synchronize(early=True)
        finally:
            self._weir_runs_late = False
        self._weir_verify()
        self._weir_leave_for_later()
        self._weir_state = State.STEPPED
        self._weir_reached.clear()
        return None

    def _weir_may_run_late(self) -> bool:
        return (self._weir_state is State.OPEN and self._weir_should_synchronize and self._weir_is_member
                and not (self._weir_has_new and first_step.is_under_way(self))
                and not self._weir_has_joined and self._weir_scale.value is None
                and not any(parameter.requires_grad for parameter in self._weir_frozen)
                and any(self._weir_is_late(exchange) for exchange in self._weir_exchanges)
                and not self._optimizer_step_pre_hooks and not self._optimizer_step_post_hooks)

    @staticmethod
    def _weir_is_late(exchange: Any) -> bool:
        return isinstance(exchange, FusedExchange) and exchange.may_finish_later

    def _weir_say_ready(self) -> None:
        """Nobody waits in ``backward()``."""

    def _weir_finish_exchanges(self) -> None:
        if not self._weir_runs_late:
            return super()._weir_finish_exchanges()
        for exchange in self._weir_exchanges:
            if self._weir_is_late(exchange):
                self._weir_results[exchange] = exchange.finish_later()
        for exchange in (*self._weir_exchanges, self._weir_sparse):
            if exchange not in self._weir_results:
                exchange.finish()
        return None

    def _weir_leave_for_later(self) -> None:
        """Ends the step, and applies those updates alone that must not wait."""
        momentum_handover.forget(self)
        self._weir_late.begin(self.param_groups)
        at_once: List[LateUpdate] = []
        for slot in self._weir_slots.values():
            gradient = slot.parameter.grad
            if gradient is None:
                continue
            update = LateUpdate(slot, self._weir_results.get(slot.exchange), gradient)
            # Adam's steps have the learning rate in them, which the exchange knows of the last step alone.
            if update.results is None or slot.parameter in self._weir_never_late or slot.plan.kind == adam.KIND:
                at_once.append(update)
            else:
                self._weir_late.add(update)
                slot.parameter.grad = None  # zero_grad() must not touch it.
        self._weir_results = {}
        dropped_passes.begin_step(self)
        self._weir_expectation.note(dropped=False)
        self._weir_apply(at_once)
        if self._weir_late:
            self._weir_watch.enter()

    def _weir_apply(self, updates: List[LateUpdate]) -> None:
        """Waits for the results, and applies these updates as the step that they are of would have."""
        if not updates:
            return
        try:
            for update in updates:
                if update.results is not None:
                    update.results.wait(update.slot.index)
        except BaseException:
            self._weir_late.take_all()  # They are lost with the job, or with its epoch.
            raise
        slots = [update.slot for update in updates]
        gradients = [slot.parameter.grad for slot in slots]
        groups_now = [dict(group) for group in self.param_groups]
        try:
            for group, then in zip(self.param_groups, self._weir_late.groups):
                group.update(then, params=[])
            for slot, update in zip(slots, updates):
                slot.parameter.grad = update.gradient
                self.param_groups[slot.group]["params"].append(slot.parameter)
            # State that an evaluation made could not be changed after it.
            with torch.inference_mode(False):
                weight_decay.add_outside(self, slots, 1.0)
                self._weir_update(slots)
        finally:
            for group, now in zip(self.param_groups, groups_now):
                group.update(now)
            for slot, before in zip(slots, gradients):
                slot.parameter.grad = before

    def _weir_apply_late(self) -> None:
        self._weir_apply(self._weir_late.take_all())
        self._weir_watch.leave()
        for exchange in self._weir_exchanges:
            exchange.report()  # The engine's step is over then.

    def synchronize(self) -> None:
        """Waits until every parameter's ``.grad`` holds the result that all ranks share; between ``step()``
        and the next backward pass, until all updates are applied."""
        self._weir_is_complete = False
        self._weir_apply_late()
        if self._weir_state is not State.STEPPED or any(
                slot.parameter.grad is not None for slot in self._weir_slots.values()):
            super().synchronize()

    # --- what looks at parameters, or at the optimizer's state ---

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        self._weir_apply_late()
        super().add_param_group(param_group)

    def state_dict(self) -> Dict[str, Any]:
        self._weir_apply_late()
        return super().state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._weir_apply_late()
        super().load_state_dict(state_dict)

    def _weir_leave(self) -> None:
        try:
            self._weir_apply_late()
        except HorovodInternalError:
            pass  # The job has failed, and has said why.
        super()._weir_leave()

    def __del__(self) -> None:
        if self.__dict__.get("_weir_late") and _job.is_initialized():
            self._weir_apply_late()  # The program goes on with the model.
        if "_weir_watch" in self.__dict__:
            self._weir_watch.leave()
        super().__del__()
