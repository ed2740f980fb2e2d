"""Handlers that save, restore and synchronise one part of a state."""

import copy
from typing import Any, List

import torch

from weir import _job
from weir.torch._ops.broadcast_parameters import broadcast_parameters
from weir.torch._ops.objects import allgather_object, broadcast_object
from weir.torch._optimizer import saved_state
from weir.torch._optimizer.broadcast_optimizer_state import broadcast_optimizer_state
from weir.torch._outer.local_steps import LocalSteps
from weir.torch.elastic._sampler import ElasticSampler


class StateHandler:
    """Handles any object with ``state_dict`` and ``load_state_dict``, such as a schedule of the
    learning rate. ``sync`` is collective."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.save()

    def set_value(self, value: Any) -> None:
        """Replaces the object."""
        self.value = value
        self.save()

    def before_save(self) -> None:
        """Called before any part is saved: raises errors that make the whole state not worth saving."""

    def save(self) -> None:
        self._saved = copy.deepcopy(self.value.state_dict())

    def restore(self) -> None:
        self.value.load_state_dict(copy.deepcopy(self._saved))

    def before_reset(self) -> None:
        """Called before the job is left, in which the value may be in use."""

    def sync(self) -> None:
        self.value.load_state_dict(broadcast_object(self.value.state_dict(), root_rank=0))
        self.save()


class ModelStateHandler(StateHandler):
    def sync(self) -> None:
        broadcast_parameters(self.value.state_dict(), root_rank=0)
        self.save()


class OptimizerStateHandler(StateHandler):
    """The unsent part of a compressing optimizer stays each rank's own, as long as all ranks have saved
    it in the same step."""

    def before_save(self) -> None:
        _raise_errors_of(self.value)

    def restore(self) -> None:
        _end_step(self.value)
        super().restore()

    def before_reset(self) -> None:
        _end_step(self.value)
        _hold_unsent(self.value)

    def sync(self) -> None:
        own = getattr(self.value, "_weir_pending", None)
        broadcast_optimizer_state(self.value, root_rank=0)
        _keep_own([self.value], [own])
        self.save()


def _raise_errors_of(optimizer: Any) -> None:
    # A step on a GPU may have failed after the model was updated with its result.
    for exchange in getattr(optimizer, "_weir_exchanges", ()):
        exchange.report()


def _end_step(optimizer: Any) -> None:
    for exchange in getattr(optimizer, "_weir_exchanges", ()):
        exchange.give_up()


def _hold_unsent(optimizer: Any) -> None:
    if hasattr(optimizer, "_weir_slots"):
        optimizer._weir_pending = saved_state.save(optimizer)


def _keep_own(optimizers: List[Any], own: List[Any]) -> None:
    """Leaves a rank with its own unsent parts, if all ranks that have any have saved them in the same step.
    Collective."""
    everywhere = allgather_object([_step_of(state) for state in own], name="elastic.optimizer")
    for number, (optimizer, state) in enumerate(zip(optimizers, own)):
        steps = [of_rank[number] for of_rank in everywhere if number < len(of_rank)]
        if _job.engine().epoch > 1:  # A rank that is new begins with what rank 0 has not sent yet.
            state = getattr(optimizer, "_weir_pending", None) if state is None else state
            steps = [step for step in steps if step is not None]
        if state is not None and steps == steps[:1] * len(steps):
            optimizer._weir_pending = saved_state.carried(optimizer, state)


def _step_of(state: Any) -> Any:
    return None if state is None else state.get("step")


class OuterStateHandler(StateHandler):
    """Handles an optimizer with local steps: its outer ones as above. All ranks go on from rank 0's model,
    and so from its round."""

    def before_save(self) -> None:
        for fragment in self.value._weir_fragments:
            fragment.agree()
            _raise_errors_of(fragment.optimizer)

    def restore(self) -> None:
        self._give_up()
        super().restore()

    def before_reset(self) -> None:
        self._give_up()
        for fragment in self.value._weir_fragments:
            _hold_unsent(fragment.optimizer)

    def _give_up(self) -> None:
        for fragment in self.value._weir_fragments:
            fragment.give_up()

    def sync(self) -> None:
        outer = [fragment.optimizer for fragment in self.value._weir_fragments]
        own = [optimizer._weir_pending for optimizer in outer]
        broadcast_optimizer_state(self.value, root_rank=0)
        _keep_own(outer, own)
        self.save()


class SamplerStateHandler(StateHandler):
    def sync(self) -> None:
        """A sample processed by any rank counts as processed."""
        states = allgather_object(self.value.state_dict(), name="elastic.sampler")
        done = set().union(*(state["processed_indices"] for state in states))
        self.value.load_state_dict({"epoch": states[0]["epoch"], "processed_indices": done})
        self.save()


class ObjectHandler(StateHandler):
    """Handles a plain value, which ``get`` and ``set`` access."""

    def __init__(self, get: Any, set_: Any, name: str) -> None:
        self._get, self._set, self._name = get, set_, name
        self.save()

    def set_value(self, value: Any) -> None:
        """Does nothing: the value is read in its place when it is saved."""

    def save(self) -> None:
        self._saved = copy.deepcopy(self._get())

    def restore(self) -> None:
        self._set(copy.deepcopy(self._saved))

    def sync(self) -> None:
        self._set(broadcast_object(self._get(), root_rank=0, name=f"elastic.{self._name}"))
        self.save()


def handler_of(value: Any) -> "StateHandler | None":
    """Returns None for a plain value."""
    if isinstance(value, torch.nn.Module):
        return ModelStateHandler(value)
    if isinstance(value, LocalSteps):
        return OuterStateHandler(value)
    if isinstance(value, torch.optim.Optimizer):
        return OptimizerStateHandler(value)
    if isinstance(value, ElasticSampler):
        return SamplerStateHandler(value)
    if hasattr(value, "state_dict") and hasattr(value, "load_state_dict"):
        return StateHandler(value)
    return None
