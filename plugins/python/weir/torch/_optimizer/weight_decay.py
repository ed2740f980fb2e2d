"""Weight decay that Weir applies in the wrapped optimizer's place.

It joins the gradient before compression (``weight_decay_form="local"``), or stays outside: then it has
a momentum of its own, and is added to the exchanged result.
"""

from typing import Any, Dict, Iterable

import torch

from weir.torch._optimizer import adam, look_ahead, momentum
from weir.torch._optimizer.momentum import Plan


class WeightDecay:
    """Weight decay beside compression: b = m * b + decay * w, added to the exchanged result. The
    arithmetic is that of the C++ plugin, bit for bit."""

    def __init__(self) -> None:
        self.momentum: Dict[torch.Tensor, torch.Tensor] = {}
        self.last: Dict[torch.Tensor, float] = {}  # The coefficient of the last step.

    @torch.no_grad()
    def apply(self, plan_: Plan, parameter: torch.Tensor, direction: torch.Tensor,
              sign: float) -> None:
        """direction += sign * the decay's own direction."""
        push = parameter.detach().float() * plan_.weight_decay
        if plan_.kind != "none":
            b = self.momentum.get(parameter)
            if b is None:
                b = self.momentum[parameter] = torch.zeros_like(push)
            elif plan_.dampening:
                push = push * (1.0 - plan_.dampening)
            last = self.last.get(parameter, plan_.momentum)
            if plan_.kind == "nesterov" and last and last != plan_.momentum:
                b.mul_(plan_.momentum / last)  # It is a sum times the momentum of its time.
            self.last[parameter] = plan_.momentum
            if plan_.kind == "nesterov":
                b.add_(push).mul_(plan_.momentum)
                push = b + push
            else:
                push = b.mul_(plan_.momentum).add_(push)
        direction.add_(push.to(direction.dtype), alpha=sign)


def stays_outside(plan_: Plan) -> bool:
    """True if a weight decay is to be added to the exchanged result."""
    return bool(plan_.weight_decay) and not plan_.local and plan_.kind != adam.KIND


def has_momentum(plan_: Plan) -> bool:
    """True if that weight decay has a momentum of its own."""
    return stays_outside(plan_) and plan_.kind != "none"


def add_local(optimizer: Any, slot: Any, gradient: torch.Tensor) -> None:
    """Adds the decay that is compressed together with a gradient, which is complete."""
    if slot.plan.local and slot.plan.weight_decay:
        plan = momentum.current(slot.plan, optimizer.param_groups[slot.group])
        with torch.no_grad():
            gradient.add_(look_ahead.weights_of(optimizer, slot) * plan.weight_decay,
                          alpha=optimizer._weir_scale.factor)


def add_outside(optimizer: Any, slots: Iterable[Any], loss_scale: float) -> None:
    """Adds the decay that stays outside to gradients that have come back, and carry this scale."""
    for slot in slots:
        if (slot.plan.weight_decay and stays_outside(slot.plan) and not slot.sparse_dim
                and slot.parameter.grad is not None):
            group = optimizer.param_groups[slot.group]
            sign = -1.0 if group.get("maximize") else 1.0
            optimizer._weir_decay.apply(momentum.current(slot.plan, group), slot.parameter,
                                        slot.parameter.grad, sign * loss_scale)
