"""The step of an Adam whose moments the compressor keeps (``momentum="adam"``).

Applying Adam to the compressed result would take the moments of a gradient that is mostly zero and
sometimes the sum of many steps. So each rank takes the moments of its own gradient. The resulting step,
learning rate included, is accumulated and sent, and the mean of the ranks' payloads is subtracted from
the weights. Weight decay stays outside.
"""

import contextlib
import warnings
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple

import torch

from weir._options import Options

KIND = "adam"
_MOMENTS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")


class Taken(NamedTuple):
    """Values taken from an Adam's parameter group."""

    compression: Options
    weight_decay: float
    local: bool
    taken: Dict[str, Any]


def asked_for(compression: Options) -> bool:
    """True if the compressor is to keep the moments."""
    return compression.get("compressor") == "dgc" and compression.get("momentum") == KIND


def take(optimizer: torch.optim.Optimizer, group: Dict[str, Any], compression: Options,
         decay: float, local: bool) -> Taken:
    """Moves the settings of a group of Adam or AdamW into the options.

    Raises ValueError for another optimizer, for settings without meaning before the exchange, and for
    settings that are given twice.
    """
    if not isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW)):
        raise ValueError(
            "momentum=adam takes the moments of torch.optim.Adam or AdamW over, and this is "
            f"{type(optimizer).__name__}: wrap one of those, or leave momentum=adam out")
    for key in ("amsgrad", "maximize"):
        if group.get(key):
            raise ValueError(f"{key}=True has no meaning with momentum=adam, where the compressor "
                             "takes the steps: leave it out")
    for key in ("beta1", "beta2", "epsilon"):
        if key in compression:
            raise ValueError(f"{key} is given in the compression options, and the optimizer has "
                             "its own; give it once, to the optimizer")
    own_decay = float(group["weight_decay"])
    if own_decay and decay:
        raise ValueError("weight decay is given to the optimizer and in the compression options; "
                         "give it once")
    beta1, beta2 = group["betas"]
    compression.update(beta1=repr(float(beta1)), beta2=repr(float(beta2)),
                       epsilon=repr(float(group["eps"])))
    if own_decay:  # Adam's joins the gradient, AdamW's does not.
        local = not (isinstance(optimizer, torch.optim.AdamW)
                     or group.get("decoupled_weight_decay", False))
    taken = {key: group[key] for key in ("betas", "eps", "weight_decay")}
    return Taken(compression, decay or own_decay, local, taken)


@contextlib.contextmanager
def applied(optimizer: Any, slots: Iterable[Any]) -> Iterator[None]:
    """Makes the wrapped optimizer's step inside skip parameters whose step the ranks made together;
    they take it afterwards. `slots` are those that have a gradient.

    Raises ValueError if a learning rate has changed since their step was made.
    """
    slots = [slot for slot in slots if slot.plan.kind == KIND]
    rates = [_rate_of(optimizer, slot) for slot in slots]
    steps = [slot.parameter.grad for slot in slots]
    for slot in slots:
        slot.parameter.grad = None
    try:
        yield
    finally:
        for slot, step in zip(slots, steps):
            slot.parameter.grad = step
    _leave_moments(optimizer, slots)
    with torch.no_grad():
        for slot, rate, step in zip(slots, rates, steps):
            if step is None:  # No rank has used it.
                continue
            if slot.plan.weight_decay and not slot.plan.local:
                # In this step; it was taken over where it is among the group's own values.
                decay = (optimizer.param_groups[slot.group]["weight_decay"]
                         if slot.plan.taken["weight_decay"] else slot.plan.weight_decay)
                slot.parameter.mul_(1.0 - rate * decay)
            slot.parameter.sub_(step)


def _rate_of(optimizer: Any, slot: Any) -> float:
    group = optimizer.param_groups[slot.group]
    rate: float = slot.exchange.rate_of(group)
    if float(group["lr"]) != rate:
        raise ValueError(
            f"lr of parameter group {slot.group} has changed from {rate} to {float(group['lr'])} "
            "between the backward pass and step(), but with momentum=adam it is part of what the "
            "ranks exchange: set it before the backward pass")
    return rate


def _leave_moments(optimizer: Any, slots: List[Any]) -> None:
    """Handles an Adam that was wrapped after it had taken steps, or loads a checkpoint of one."""
    found = [key for slot in slots for key in _MOMENTS
             if optimizer.state.get(slot.parameter, {}).pop(key, None) is not None]
    if found:
        warnings.warn("the moments of training without compression are left out: with "
                      "momentum=adam each rank takes those of its own gradient, from zero on")
