"""Hands the momentum of training without compression over to a compressor that handles momentum in the
optimizer's place.

SGD keeps it as "momentum_buffer": in a checkpoint of dense training, or in an optimizer that was
wrapped after it had taken steps. The compressor's momentum u starts at zero, so the first gradients
carry the effect of a momentum of b. Vanilla: u = m * b + g is u = m * 0 + g' for g' = g + m * b. With
Nesterov's, m^2 * b is in the first update, m^3 * b in the second, and so on; g' = g + m^2 * b gives the
same sum: (1 + m) m^2 * b in the first update, m^4 * b in the second, and so on.
"""

import warnings
from typing import Any, Dict

import torch

from weir.torch._optimizer import momentum
from weir.torch._optimizer.momentum import Plan

_BUFFER = "momentum_buffer"
_NOTHING: Dict[str, Any] = {}


def _is_taken(plan: Plan) -> bool:
    return bool(plan.taken) and plan.kind != "none"


def check(optimizer: Any, state_dict: Dict[str, Any]) -> None:
    """Raises ValueError if a state's momentum would be added to another one."""
    if not any(state and state.get(_BUFFER) is not None for state in state_dict["state"].values()):
        return
    for slot in optimizer._weir_slots.values():
        steps = getattr(slot.exchange, "next_step", 0)
        if steps > 0 and _is_taken(slot.plan):
            raise ValueError("the state has the momentum of training without compression, and this "
                             "optimizer has taken steps with a momentum of its own: load it into a "
                             "new one")


def is_due(optimizer: Any, slot: Any) -> bool:
    """True if the parameter has a momentum to be handed over."""
    return (_is_taken(slot.plan)
            and (optimizer.state.get(slot.parameter) or _NOTHING).get(_BUFFER) is not None)


def add(optimizer: Any, slot: Any, gradient: torch.Tensor) -> None:
    """Adds the momentum to be handed over to the parameter's gradient, which is complete."""
    buffer = (optimizer.state.get(slot.parameter) or _NOTHING).get(_BUFFER)
    if buffer is None:
        return
    plan = momentum.current(slot.plan, optimizer.param_groups[slot.group])
    if not _is_taken(plan) or "clip_norm" in plan.compression:
        return
    share = plan.momentum ** (2 if plan.kind == "nesterov" else 1)
    sign = -1.0 if optimizer.param_groups[slot.group].get("maximize") else 1.0
    if hasattr(buffer, "to_local"):  # Of a shard.
        buffer = buffer.to_local()
    with torch.no_grad():
        gradient.add_(buffer.to(gradient.dtype), alpha=sign * share * optimizer._weir_scale.factor)


def forget(optimizer: Any) -> None:
    """Called after a step: the compressor has the momentum now. Warns if it could not be handed over."""
    clipped = False
    for slot in optimizer._weir_slots.values():
        if not slot.stepped:
            slot.stepped = slot.parameter.grad is not None
        if not slot.plan.taken or not _is_taken(slot.plan) or slot.parameter.grad is None:
            continue
        found = (optimizer.state.get(slot.parameter) or {}).pop(_BUFFER, None)
        if found is not None:
            clipped |= "clip_norm" in slot.plan.compression
    if clipped:
        warnings.warn("the momentum of training without compression is left out, and starts at "
                      "zero: clip_norm= would clip it together with the first gradients")
