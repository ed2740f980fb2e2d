"""Reactions of optimizers when the job is left, and when ranks join in their process set."""

from weir import _job
from weir._process_sets import ProcessSet, before_removing
from weir._ops.join import after_joining, before_joining
from weir.torch._optimizer import living, saved_state


def _before_leaving() -> None:
    for optimizer in living.in_order():
        optimizer._weir_leave()


def _before_joining(process_set: ProcessSet) -> None:
    """Raises ValueError in the middle of a step of an optimizer of the set."""
    for optimizer in living.in_order():
        if optimizer._weir_process_set is not process_set:
            continue
        optimizer._weir_apply_late()
        for slot in optimizer._weir_slots.values():
            if slot.complete or slot.submitted:
                raise ValueError(f"join() in the middle of a step of {optimizer._weir_name}: the "
                                 f"gradient of '{slot.name}' is there; call step() first")


def _before_removing(process_set: ProcessSet) -> None:
    for optimizer in living.in_order():
        if optimizer._weir_process_set is not process_set or not optimizer._weir_exchanges:
            continue
        if any(slot.submitted for slot in optimizer._weir_slots.values()):
            continue  # In the middle of a step: the engine says that the set is in use.
        # Restored if the set is not removed after all.
        optimizer._weir_pending = saved_state.save(optimizer)
        optimizer._weir_leave()


def _after_joining(process_set: ProcessSet) -> None:
    for optimizer in living.in_order():
        if optimizer._weir_process_set is process_set:
            optimizer._weir_has_joined = True


_job.before_leaving(_before_leaving)
before_removing(_before_removing)
before_joining(_before_joining)
after_joining(_after_joining)
