"""Reactions of optimizers when the job is left, and when ranks join in their process set."""

import weakref
from typing import TYPE_CHECKING

from weir import _job
from weir._process_sets import ProcessSet
from weir.torch._ops.join import after_joining, before_joining

if TYPE_CHECKING:
    from weir.torch._optimizer.step import Distributed

_all: "weakref.WeakSet[Distributed]" = weakref.WeakSet()


def add(optimizer: "Distributed") -> None:
    """Makes the optimizer learn of these events, as long as it lives."""
    _all.add(optimizer)


def _before_leaving() -> None:
    for optimizer in list(_all):
        optimizer._weir_leave()


def _before_joining(process_set: ProcessSet) -> None:
    """Raises ValueError in the middle of a step of an optimizer of the set."""
    for optimizer in list(_all):
        if optimizer._weir_process_set is not process_set:
            continue
        for slot in optimizer._weir_slots.values():
            if slot.complete or slot.submitted:
                raise ValueError(f"join() in the middle of a step of {optimizer._weir_name}: the "
                                 f"gradient of '{slot.name}' is there; call step() first")


def _after_joining(process_set: ProcessSet) -> None:
    for optimizer in list(_all):
        if optimizer._weir_process_set is process_set:
            optimizer._weir_has_joined = True


_job.before_leaving(_before_leaving)
before_joining(_before_joining)
after_joining(_after_joining)
