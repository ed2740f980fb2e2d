"""Gradients at where the weights are going: ``look_ahead``.

What a rank has not sent yet will move the weights sooner or later. With ``look_ahead`` it computes
its gradients at w - lr * (c / N) * v, v being that and N the number of ranks, as Nesterov's momentum
does with its own. The weights are shifted inside a ``with`` alone, so that nothing else sees them so.
"""

import contextlib
from typing import Any, Iterator, List

import torch

from weir.torch._compression.options import Options
from weir.torch._optimizer import adam, saved_state
from weir.torch._optimizer.exchange.fused import FusedExchange

_NOT_USED = ("look_ahead is given, and gradients are computed outside of `with "
             "optimizer.looking_ahead():`; put the forward and backward passes of a step there")


def take(compression: Options) -> float:
    """Takes the option out, which is not the engine's. Raises ValueError for what it cannot be."""
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
    """Raises ValueError where a gradient that has come was taken elsewhere. It is not submitted."""
    if slot.plan.look_ahead and optimizer._weir_true_weights is None:
        raise ValueError(_NOT_USED)


def weights_of(optimizer: Any, parameter: torch.Tensor) -> torch.Tensor:
    """What the parameter is without being shifted."""
    found: torch.Tensor = (optimizer._weir_true_weights or {}).get(parameter, parameter.detach())
    return found


@contextlib.contextmanager
def shifted(optimizer: Any) -> Iterator[None]:
    """Inside, parameters are where what this rank has not sent would bring them. They come back
    bit for bit, after exceptions too. Without ``look_ahead`` nothing happens."""
    slots = _slots(optimizer)
    if not slots:
        yield
        return
    if any(slot.complete or slot.submitted for slot in slots):
        raise ValueError("looking_ahead() in the middle of a step: all passes of a step stand in "
                         "one `with`, and step() behind it")
    saved_state.restore_pending(optimizer)  # What was loaded says where.
    # Copies and not differences: adding back what was subtracted would round.
    saved = {slot.parameter: slot.parameter.detach().clone() for slot in slots}
    optimizer._weir_true_weights = saved
    try:
        with torch.no_grad():
            for slot in slots:
                _shift(optimizer, slot)
        yield
    finally:
        optimizer._weir_true_weights = None
        with torch.no_grad():
            for parameter, weights in saved.items():
                parameter.copy_(weights)


def _shift(optimizer: Any, slot: Any) -> None:
    parameter = slot.parameter
    velocity = torch.empty(parameter.shape, dtype=torch.float32)
    slot.exchange.copy_velocity(slot.index, velocity)
    # Adam's steps have the rate in them.
    rate = 1.0 if slot.plan.kind == adam.KIND else float(optimizer.param_groups[slot.group]["lr"])
    _, ranks, _ = optimizer._weir_place
    parameter.sub_(velocity.to(parameter), alpha=rate * slot.plan.look_ahead / ranks)
