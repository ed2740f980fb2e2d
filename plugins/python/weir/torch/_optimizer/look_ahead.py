"""Gradients at the weights' coming position: ``look_ahead``.

The unsent part of a rank will move the weights sooner or later. With ``look_ahead`` the rank computes
its gradients at w - lr * (c / N) * v, v being that part and N the number of ranks, as Nesterov's
momentum does with its own. The weights are shifted only inside a ``with``, so that no other code sees
them so.
"""

import contextlib
from typing import Any, Iterator, List

import torch

from weir._options import Options
from weir.torch._optimizer import adam, saved_state
from weir.torch._optimizer.exchange.fused import FusedExchange

_NOT_USED = ("look_ahead is given, and gradients are computed outside of `with "
             "optimizer.looking_ahead():`; put the forward and backward passes of a step there")


def take(compression: Options) -> float:
    """Removes the option, which is not the engine's. Raises ValueError for a wrong value."""
    given = compression.pop("look_ahead", "0")
    try:
        factor = float(given)
    except ValueError:
        factor = -1.0
    if not 0.0 <= factor <= 1.0:
        raise ValueError(f"look_ahead={given} has to be a number from 0 to 1: above 1 a rank goes "
                         "further than all ranks together would")
    if factor and compression.get("route") == "hierarchical":
        raise ValueError("look_ahead needs what each rank has not sent yet, and with "
                         "route=hierarchical the first rank of a host keeps it for all: leave one "
                         "of them out")
    return factor


def _slots(optimizer: Any) -> List[Any]:
    return [slot for slot in optimizer._weir_slots.values()
            if slot.plan.look_ahead and isinstance(slot.exchange, FusedExchange)]


def check_used(optimizer: Any, slot: Any) -> None:
    """Raises ValueError if a gradient was taken elsewhere. It is not submitted."""
    if slot.plan.look_ahead and optimizer._weir_true_weights is None:
        raise ValueError(_NOT_USED)


def weights_of(optimizer: Any, slot: Any) -> torch.Tensor:
    """Returns what this rank has of the parameter, unshifted."""
    found: torch.Tensor = (optimizer._weir_true_weights or {}).get(slot.parameter, slot.local.detach())
    return found


@contextlib.contextmanager
def shifted(optimizer: Any) -> Iterator[None]:
    """Shifts parameters inside to where this rank's unsent part would bring them. They return bit for
    bit, also after exceptions. No effect without ``look_ahead``."""
    slots = _slots(optimizer)
    if not slots:
        yield
        return
    if any(slot.complete or slot.submitted for slot in slots):
        raise ValueError("looking_ahead() in the middle of a step: all passes of a step stand in "
                         "one `with`, and step() behind it")
    saved_state.restore_pending(optimizer)  # The loaded state decides where.
    # Copies and not differences, because adding back a subtracted value would round.
    saved = {slot.parameter: slot.local.detach().clone() for slot in slots}
    optimizer._weir_true_weights = saved
    try:
        with torch.no_grad():
            for slot in slots:
                _shift(optimizer, slot)
        yield
    finally:
        optimizer._weir_true_weights = None
        with torch.no_grad():
            for slot in slots:
                slot.local.copy_(saved[slot.parameter])


def _shift(optimizer: Any, slot: Any) -> None:
    parameter = slot.local
    velocity = torch.empty(parameter.shape, dtype=torch.float32)
    slot.exchange.copy_velocity(slot.index, velocity)
    # Adam's steps include the rate.
    rate = 1.0 if slot.plan.kind == adam.KIND else float(optimizer.param_groups[slot.group]["lr"])
    _, ranks, _ = optimizer._weir_place
    parameter.sub_(velocity.to(parameter), alpha=rate * slot.plan.look_ahead / ranks)
