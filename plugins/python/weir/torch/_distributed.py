"""What DistributedOptimizer puts before the wrapped optimizer's own class."""

import collections
import contextlib
import warnings
import weakref
from typing import TYPE_CHECKING, Any, ContextManager, Dict, Iterator, List, Optional, Tuple

import torch

from weir import _job
from weir._process_sets import ProcessSet, id_for
from weir.torch import (
    _adam, _by_name, _first_step, _in_place, _look_ahead, _loss_scale, _momentum,
    _momentum_handover, _nonfinite, _reduce_op, _state)
from weir.torch._compression import averaging
from weir.torch._exchange import FusedExchange, Member, Reduction, SingleExchange, report_of
from weir.torch._own_compressor import OwnExchange
from weir.torch._slot import Slot, checked_passes
from weir.torch._sparse_exchange import SparseExchange

_FUSED = frozenset({torch.float32, torch.float16, torch.bfloat16})
_TWICE = ("optimizer.step() called without optimizer.skip_synchronize() context after "
          "optimizer.synchronize(). This can cause training slowdown. You may want to consider "
          "using optimizer.skip_synchronize() context if you use optimizer.synchronize() in your "
          "code.")
_TOO_MANY = ("Gradients were computed more than backward_passes_per_step times before call to "
             "step(). Increase backward_passes_per_step to accumulate gradients locally.")
_ZERO_GRAD = ("optimizer.zero_grad() was called after loss.backward() but before optimizer.step() "
              "or optimizer.synchronize(). This is prohibited as it can cause a race condition.")


if TYPE_CHECKING:  # What it is mixed into.
    _Wrapped = torch.optim.Optimizer
else:
    _Wrapped = object


class Distributed(_Wrapped):
    """The steps of an optimizer on gradients that all ranks share."""

    # Beside what the optimizer has: everything under names that begin with _weir.

    def _weir_init(self, named: Optional[List[Tuple[str, torch.Tensor]]], options: Dict[str, str],
                   chosen: bool, compressor: Any, passes: int, op: int, predivide: float,
                   sparse_as_dense: bool, process_set: ProcessSet) -> None:
        from weir import _core

        self._weir_name = f"DistributedOptimizer.{process_set._next_number('optimizer')}"
        if chosen:
            _job.engine().check_programs_choice(self._weir_name, options, process_set.rank() == 0)
        self._weir_process_set = process_set
        self._weir_is_member = bool(process_set.included())
        self._weir_options = options
        self._weir_tensor_options = _core.TensorOptions(options)
        self._weir_compressor = compressor  # The program's own.
        self._weir_passes = passes
        factor = predivide if op == _reduce_op.Average else 1.0
        self._weir_reduction = Reduction(op, 1.0 / factor, factor)
        self._weir_sparse_as_dense = sparse_as_dense
        self._weir_given_names = {parameter: name for name, parameter in named or []}
        self._weir_slots: Dict[torch.Tensor, Slot] = {}
        self._weir_adoptions = 0
        self._weir_place = (0, 0, 0)  # In the set: rank, size; exchanges. Also after leaving.
        self._weir_exchanges: List[Any] = []
        self._weir_sparse = SparseExchange(self._weir_name, self._weir_reduction, process_set)
        self._weir_plans: List[_momentum.Plan] = []
        self._weir_compresses = False
        self._weir_holds_back = False  # Until all gradients are known to be finite, or not.
        self._weir_decay = _momentum.WeightDecay()
        self._weir_hooks: List[Any] = []
        self._weir_synchronized = False
        self._weir_has_joined = False  # Since the last step.
        self._weir_should_synchronize = True
        self._weir_scale = _loss_scale.StepScale()
        self._weir_pending: Optional[_state.State] = None  # Loaded; restored before the next step.
        self._weir_true_weights: Optional[Dict[torch.Tensor, torch.Tensor]] = None  # Looking ahead.
        self._weir_adopt_new_parameters()
        _all.add(self)

    def __deepcopy__(self, _: Any) -> Any:
        raise TypeError("a DistributedOptimizer is not copied: its parameters are exchanged under one "
                        "name on all ranks. Copy the model, and wrap an optimizer of the copy")

    # --- parameters ---

    def _weir_adopt_new_parameters(self) -> None:
        """Registers whatever the parameter groups have gained."""
        if not self._weir_is_member:
            return  # It steps alone: without hooks, and without anything to exchange.
        for group in self.param_groups[len(self._weir_plans):]:
            self._weir_plans.append(_momentum.plan(self, group, self._weir_tensor_options.base))
        self._weir_compresses = any(plan.compression for plan in self._weir_plans)
        self._weir_adoptions += 1
        self._weir_frozen = [parameter for group in self.param_groups
                             for parameter in group["params"] if not parameter.requires_grad]
        for number, group in enumerate(self.param_groups):
            for i, parameter in enumerate(group["params"]):
                if parameter in self._weir_slots or not parameter.requires_grad:
                    continue
                name = self._weir_given_names.get(parameter, f"group{number}.parameter{i}")
                slot = Slot(name, parameter, number, self._weir_adoptions)
                slot.plan = _by_name.plan_of(self, slot)
                slot.renew(self._weir_passes)
                self._weir_slots[parameter] = slot
                self._weir_hook(slot)
        _by_name.warn(self)
        self._weir_register_new()

    def _weir_register_new(self) -> None:
        """Registers what has no exchange yet: new parameters, or all of them in a new job."""
        fresh: Dict[Any, List[Slot]] = collections.OrderedDict()
        for slot in self._weir_slots.values():
            if slot.exchange is None:
                fresh.setdefault((slot.adoption, self._weir_kind(slot)), []).append(slot)
        for (_, kind), slots in fresh.items():
            self._weir_register(kind, slots)
        self._weir_holds_back = _nonfinite.must_agree(self)
        ranks = self._weir_process_set.ranks
        self._weir_place = (ranks.index(_job.rank()), len(ranks), len(self._weir_exchanges))

    def _weir_leave(self) -> None:
        """The job ends; the first step in another one registers again."""
        for exchange in self._weir_exchanges:
            exchange.close()
        self._weir_exchanges = []
        self._weir_sparse = SparseExchange(self._weir_name, self._weir_reduction,
                                           self._weir_process_set)
        for slot in self._weir_slots.values():
            slot.renew(self._weir_passes)
        self._weir_scale.end_step()

    def _weir_kind(self, slot: Slot) -> Any:
        """What the parameters of one exchange have in common; None: exchanged one by one."""
        op = self._weir_reduction.op
        dtype = slot.parameter.dtype
        if dtype not in _FUSED or op not in (_reduce_op.Average, _reduce_op.Sum):
            _momentum.check_single(slot.plan, slot.name, dtype)
            return None
        return tuple(sorted(self._weir_plans[slot.group].compression.items()))

    def _weir_register(self, kind: Any, slots: List[Slot]) -> None:
        name = f"{self._weir_name}/{len(self._weir_exchanges)}"
        count = len(self._weir_slots)
        reduction = self._weir_reduction._replace(
            process_set=id_for(self._weir_process_set, "DistributedOptimizer"))
        members = [Member(slot.name, slot.parameter, self.param_groups[slot.group], count - i,
                          _by_name.own_options(self, slot))
                   for i, slot in enumerate(slots)]
        if self._weir_compressor is not None:
            exchange: Any = OwnExchange(name, members, reduction, self._weir_compressor,
                                        self._weir_process_set)
        elif kind is None:
            exchange = SingleExchange(name, members, reduction)
        else:
            also_equal = {"optimizer": type(self).__name__,
                          "backward passes per step": str(self._weir_passes),
                          "weight decay": repr(self._weir_plans[slots[0].group].weight_decay),
                          "look ahead": repr(self._weir_plans[slots[0].group].look_ahead),
                          **_by_name.patterns(self._weir_options)}
            if any(averaging(slot.plan.compression) for slot in slots):
                reduction = reduction._replace(prescale=1.0, postscale=1.0)
            exchange = FusedExchange(name, members, dict(kind), also_equal, reduction)
            if exchange.compression:
                _loss_scale.watch()
        for index, slot in enumerate(slots):
            slot.exchange, slot.index = exchange, index
        self._weir_exchanges.append(exchange)

    def _weir_hook(self, slot: Slot) -> None:
        # The node that accumulates into .grad: after it, the gradient is complete.
        expanded: Any = slot.parameter.expand_as(slot.parameter)
        node = expanded.grad_fn.next_functions[0][0]
        owner = weakref.ref(self)  # A hook must not keep an optimizer that nobody else has.

        def hook(*_: Any) -> None:
            optimizer = owner()
            # A model may be used without a job, too.
            if optimizer is not None and _job.is_initialized():
                optimizer._weir_accumulated(slot)

        self._weir_hooks.append((node, node.register_hook(hook)))  # The node lives as held here.

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if hasattr(self, "_weir_slots"):
            self._weir_adopt_new_parameters()

    # --- a step ---

    def _weir_accumulated(self, slot: Slot) -> None:
        if slot.passes_left <= 0:
            raise AssertionError(_TOO_MANY)
        _look_ahead.check_used(self, slot)
        slot.passes_left -= 1
        if self._weir_compresses:  # Otherwise whatever factor gradients carry, results carry too.
            self._weir_scale.note(self._weir_exchanges, lambda: _first_step.is_under_way(self))
        if slot.passes_left == 0:
            slot.complete = True
            if _first_step.is_over(slot) and not self._weir_holds_back:
                self._weir_submit(slot)

    def _weir_submit(self, slot: Slot) -> None:
        if self._weir_pending is not None:
            _state.restore(self, self._weir_pending)
            self._weir_pending = None
        parameter = slot.parameter
        gradient = parameter.grad  # Looked up once: a step has thousands of these.
        if gradient is None:
            # Unused in this step, but perhaps not on every rank.
            parameter.grad = gradient = torch.zeros_like(parameter)
        if not slot.sparse_dim:
            if gradient.is_sparse:
                if not self._weir_sparse_as_dense:
                    raise ValueError(
                        f"the gradient of '{slot.name}' is sparse and was dense in its first step "
                        "on all ranks: give sparse_as_dense=True")
                parameter.grad = gradient = gradient.to_dense()
            plan = slot.plan
            if plan.local and plan.weight_decay:
                with torch.no_grad():
                    gradient.add_(_look_ahead.weights_of(self, parameter) * plan.weight_decay,
                                  alpha=self._weir_scale.factor)
            _momentum_handover.add(self, slot, gradient)
        slot.submitted = True
        slot.exchange.submit(slot.index, gradient)

    def synchronize(self) -> None:
        """Waits until every parameter's ``.grad`` holds what all ranks share.

        Submits zeros for parameters that got no gradient. To be followed by ``step()`` under
        ``skip_synchronize()``, with whatever is to be done to the gradients in between.
        """
        if not self._weir_is_member:
            self._weir_synchronized = True
            return
        try:
            if any(parameter.requires_grad for parameter in self._weir_frozen):
                self._weir_adopt_new_parameters()
            self._weir_register_new()
            if self._weir_has_joined:
                _first_step.recall(self)
                self._weir_has_joined = False
            _first_step.settle(self)
            self._weir_holds_back = _nonfinite.must_agree(self)
            for exchange in self._weir_exchanges:
                exchange.loss_scale = self._weir_scale.value
            if self._weir_holds_back:
                _nonfinite.agree(self)
            for slot in self._weir_slots.values():
                if not slot.submitted:
                    self._weir_submit(slot)
            for exchange in (*self._weir_exchanges, self._weir_sparse):
                exchange.finish()
            self._weir_decay_weights()
            if not self._weir_skipped():
                _momentum_handover.forget(self)
        finally:
            for slot in self._weir_slots.values():
                slot.begin_step(self._weir_passes)
            self._weir_scale.end_step()
        self._weir_synchronized = True

    def _weir_decay_weights(self) -> None:
        if self._weir_skipped():
            return
        for slot in self._weir_slots.values():
            plan = slot.plan
            if _momentum.stays_outside(plan) and not slot.sparse_dim:
                sign = -1.0 if self.param_groups[slot.group].get("maximize") else 1.0
                gradient = slot.parameter.grad
                assert gradient is not None  # It holds the exchange's result.
                self._weir_decay.apply(plan, slot.parameter, gradient,
                                       sign * self._weir_scale.factor)

    @property
    def step_report(self) -> Any:
        """What the engine reports of the last step, None: nothing. Waits for what a GPU still does."""
        return report_of(self._weir_exchanges)

    def _weir_skipped(self) -> bool:
        return any(exchange.skipped() for exchange in self._weir_exchanges)

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """``step()`` in here does not call ``synchronize()``: it was called already."""
        self._weir_should_synchronize = False
        try:
            yield
        finally:
            self._weir_should_synchronize = True

    def step(self, closure: Any = None) -> Any:
        """Exchanges what is still to be exchanged, and lets the wrapped optimizer take its step.

        A closure is evaluated once, before the exchange. A step that is skipped on all ranks
        (``skip_nonfinite``) changes nothing.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self._weir_should_synchronize:
            if self._weir_synchronized:
                warnings.warn(_TWICE, stacklevel=2)
            self.synchronize()
        self._weir_synchronized = False
        if self._weir_skipped():
            return loss
        with _adam.applied(self), _momentum.taken_away(self):
            result = super().step()
        return result if closure is None else loss

    def zero_grad(self, *arguments: Any, **keywords: Any) -> None:
        """The wrapped optimizer's. Raises AssertionError between backward and step."""
        if any(slot.complete for slot in self._weir_slots.values()):
            raise AssertionError(_ZERO_GRAD)
        _loss_scale.between_passes()
        super().zero_grad(*arguments, **keywords)

    def looking_ahead(self) -> ContextManager[None]:
        """For ``with`` around the forward and backward passes of a step: with the option
        ``look_ahead`` gradients are taken there, and without it nothing happens."""
        return _look_ahead.shifted(self)

    def set_backward_passes_per_step(self, passes: int) -> None:
        """How many backward passes go into one step, from now on."""
        self._weir_passes = checked_passes(passes)
        for slot in self._weir_slots.values():
            slot.passes_left = passes

    # --- a loss scale ---

    def set_grad_scaler(self, scaler: Any) -> None:
        """Names the scaler of the loss. ``torch.amp.GradScaler`` need not be named; it is for those
        that scale in another way, and have its ``get_scale()`` and ``is_enabled()``."""
        self._weir_scale.scaler = scaler

    @property
    def _step_supports_amp_scaling(self) -> bool:
        # What GradScaler.step asks first, before it touches any gradient.
        under_way = any(slot.complete for slot in self._weir_slots.values())
        self._weir_scale.check_scaler_step(self._weir_compresses, under_way)
        return bool(self.__dict__.get("_step_supports_amp_scaling", False))

    # --- checkpoints ---

    def state_dict(self) -> Dict[str, Any]:
        """The wrapped optimizer's, and under "weir" what this rank has not sent yet."""
        found = super().state_dict()
        found["weir"] = _state.save(self)
        return found

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores what ``state_dict`` gave.

        Every rank has to load, its own or rank 0's, or rank 0 has to load and all to call
        ``broadcast_optimizer_state``; the next step is the first that needs the other ranks. The
        momentum of training without compression goes on in a compressor; what a compressor has
        remembered is left out, with a warning, where there is another one or none.
        Raises ValueError for the state of an optimizer that was made otherwise.
        """
        saved = state_dict.get("weir")
        if saved is not None:
            saved = _state.fitting(self, saved)
        if saved is None:
            _momentum_handover.check(self, state_dict)
        with _in_place.kept(self):
            super().load_state_dict({key: value for key, value in state_dict.items()
                                     if key != "weir"})
        self._weir_pending = saved


_all: "weakref.WeakSet[Distributed]" = weakref.WeakSet()


def _let_go() -> None:
    for optimizer in list(_all):
        optimizer._weir_leave()


_job.before_leaving(_let_go)


def before_join(process_set: ProcessSet) -> None:
    """Raises ValueError in the middle of a step of an optimizer of the set."""
    for optimizer in list(_all):
        if optimizer._weir_process_set is not process_set:
            continue
        for slot in optimizer._weir_slots.values():
            if slot.complete or slot.submitted:
                raise ValueError(f"join() in the middle of a step of {optimizer._weir_name}: the "
                                 f"gradient of '{slot.name}' is there; call step() first")


def after_join(process_set: ProcessSet) -> None:
    """All ranks of the set are back."""
    for optimizer in list(_all):
        if optimizer._weir_process_set is process_set:
            optimizer._weir_has_joined = True
