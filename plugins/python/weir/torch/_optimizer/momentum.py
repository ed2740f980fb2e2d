"""Division of momentum and weight decay between the wrapped optimizer and the compressor.

Deep Gradient Compression corrects momentum before the exchange (Lin et al., ICLR 2018, section 3), so
the work that a wrapped SGD would do afterwards moves into the compressor. Weight decay stays outside
compression, with a momentum of its own, so that both together equal dense momentum SGD except for what
compression holds back.
"""

import contextlib
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch

from weir._options import Options
from weir.torch._optimizer import adam, look_ahead

_TAKEN = {"momentum": 0, "nesterov": False, "weight_decay": 0}
_TWICE = "momentum is given to the optimizer and in the compression options; give it once"


class Plan(NamedTuple):
    """Plan for one parameter group, or for a parameter with options of its own."""

    compression: Options          # For the engine.
    kind: str                     # The compressor's momentum: "none", "vanilla", "nesterov" or "adam".
    momentum: float
    weight_decay: float           # Applied here; 0 if the wrapped optimizer applies it.
    local: bool                   # The decay joins the gradient before compression.
    taken: Dict[str, Any]         # The group's own values that are applied elsewhere.
    dampening: float = 0.0        # Applied here to every gradient but the first.
    look_ahead: float = 0.0       # Distance of the look-ahead.


def is_sgd_with_momentum(optimizer: torch.optim.Optimizer) -> bool:
    return (isinstance(optimizer, torch.optim.SGD)
            and any(group["momentum"] for group in optimizer.param_groups))


def plan(optimizer: torch.optim.Optimizer, group: Dict[str, Any], compression: Options) -> Plan:
    """Divides the work for one parameter group, or for a parameter of it.

    Raises ValueError if momentum or weight decay is given twice, or if the wrapped SGD is asked for
    something without meaning before the exchange.
    """
    compression = dict(compression)
    ahead = look_ahead.take(compression)
    found = _plan(optimizer, group, compression)
    if ahead and not found.compression.get("compressor") == "dgc":
        raise ValueError("look_ahead is an option of dgc: leave it out")
    return found._replace(look_ahead=ahead)


def _plan(optimizer: torch.optim.Optimizer, group: Dict[str, Any], compression: Options) -> Plan:
    decay = float(compression.pop("weight_decay", 0.0))
    local = compression.pop("weight_decay_form", "outside") == "local"
    if compression.get("compressor") != "dgc":
        return _beside_codec(optimizer, group, compression, decay, local)
    if adam.asked_for(compression):
        taken = adam.take(optimizer, group, compression, decay, local)
        return Plan(taken.compression, adam.KIND, 0.0, taken.weight_decay, taken.local,
                    taken.taken)
    if not isinstance(optimizer, torch.optim.SGD):
        # Residual accumulation alone: this optimizer's own momentum follows the exchange.
        compression.setdefault("momentum", "none")
        return Plan(compression, compression["momentum"],
                    float(compression.get("momentum_mu", 0.9)), decay, local, {})
    return _take_from_sgd(group, compression, decay, local)


def _beside_codec(optimizer: torch.optim.Optimizer, group: Dict[str, Any], compression: Options,
                  decay: float, local: bool) -> Plan:
    """Plans for other compressors, which handle momentum if they are told to, with SGD's coefficient
    unless they have one; weight decay stays SGD's."""
    kind = compression.get("momentum", "none")
    own = float(group["momentum"]) if isinstance(optimizer, torch.optim.SGD) else 0.0
    if own == 0.0 or (kind == "none" and compression.get("compressor") != "signum"):
        return Plan(compression, "none", 0.0, decay, local, {})
    if "momentum_mu" in compression:
        raise ValueError(_TWICE)
    compression["momentum_mu"] = repr(own)
    taken = {key: group[key] for key in ("momentum", "nesterov")}
    return Plan(compression, kind, own, decay, local, taken)


def _take_from_sgd(group: Dict[str, Any], compression: Options, decay: float,
                   local: bool) -> Plan:
    momentum, given = float(group["momentum"]), "momentum" in compression
    if momentum and (given or "momentum_mu" in compression):
        raise ValueError(_TWICE)
    if decay and group["weight_decay"]:
        raise ValueError("weight decay is given to the optimizer and in the compression options; "
                         "give it once")
    if not given and "momentum_mu" not in compression:
        kind = "none" if not momentum else "nesterov" if group["nesterov"] else "vanilla"
        compression["momentum"] = kind
        if momentum:
            compression["momentum_mu"] = repr(momentum)
    kind = compression.get("momentum", "vanilla")
    momentum = float(compression.get("momentum_mu", 0.9))
    taken = {key: group[key] for key in _TAKEN}
    dampening = float(group.get("dampening", 0.0)) if kind != "none" else 0.0
    return Plan(compression, kind, momentum, decay or float(group["weight_decay"]), local, taken,
                dampening)


def check_sparse(plan_: Plan, name: str) -> None:
    """Raises ValueError if a parameter with a sparse gradient would lose its momentum or weight decay,
    because uncompressed gradients have neither."""
    if (plan_.kind != "none" or plan_.compression.get("momentum", "none") != "none"
            or plan_.weight_decay):
        raise ValueError(
            f"the gradient of '{name}' is sparse, and Weir has taken momentum or weight decay of "
            "its parameter group over, which it does for dense gradients alone: give "
            "sparse_as_dense=True, or a parameter group of its own without both")


def check_single(plan_: Plan, name: str, dtype: torch.dtype) -> None:
    """Raises ValueError if a parameter of a type that is not compressed would lose its momentum."""
    if plan_.kind != "none" or plan_.compression.get("momentum", "none") != "none":
        raise ValueError(
            f"'{name}' is of type {dtype}, whose gradients are not compressed, and Weir has taken "
            "the momentum of its parameter group over: train it in float32, or give it a parameter "
            "group of its own without momentum")


class _Part(NamedTuple):
    """Parameters of one group from which the same values were taken over."""

    group: Dict[str, Any]
    taken: Dict[str, Any]


def _parts(optimizer: Any, group: Dict[str, Any], taken: Dict[str, Any]) -> List[_Part]:
    """Returns the group, or its parts if its parameters have different compressors."""
    found: Dict[Tuple[str, ...], _Part] = {}
    for parameter in group["params"]:
        slot = optimizer._weir_slots.get(parameter)
        of_slot = taken if slot is None else slot.plan.taken
        part = found.setdefault(tuple(of_slot), _Part({**group, "params": []}, of_slot))
        part.group["params"].append(parameter)
    if len(found) > 1:
        return list(found.values())
    return [_Part(group, part.taken) for part in found.values()] or [_Part(group, taken)]


@contextlib.contextmanager
def taken_away(optimizer: Any) -> Iterator[None]:
    """Keeps the wrapped optimizer's step inside from repeating work that was done already.

    Raises ValueError if a value has changed that the compressor cannot follow.
    """
    groups = optimizer.param_groups
    parts: List[_Part] = []
    for number, (group, plan_) in enumerate(zip(groups, optimizer._weir_plans)):
        new = (_parts(optimizer, group, plan_.taken) if optimizer._weir_tensor_options.has_patterns
               else [_Part(group, plan_.taken)])
        for part in new:
            _check_unchanged(number, part)
        parts.extend(part._replace(taken=_now(part)) for part in new)
    is_split = len(parts) > len(groups)
    try:
        for part in parts:
            part.group.update({key: _TAKEN[key] for key in part.taken if key in _TAKEN})
        if is_split:
            optimizer.param_groups = [part.group for part in parts]
        yield
    finally:
        for part in parts:
            part.group.update(part.taken)
        if is_split:
            optimizer.param_groups = groups


# A scheduler may change these in mid-training (OneCycleLR); the compressor follows.
_MAY_CHANGE = ("momentum", "betas", "weight_decay")


def _now(part: _Part) -> Dict[str, Any]:
    return {key: part.group[key] for key in part.taken}


def momentum_now(group: Dict[str, Any], plan_: Plan) -> float:
    """Returns the momentum, or Adam's beta1, that the group has in this step."""
    if "momentum" in plan_.taken and plan_.taken["momentum"]:
        return float(group["momentum"])
    return float(group["betas"][0]) if "betas" in plan_.taken else plan_.momentum


def weight_decay_now(group: Dict[str, Any], plan_: Plan) -> float:
    """Returns the weight decay that the group has in this step, if it was taken over."""
    taken = plan_.taken.get("weight_decay")
    return float(group["weight_decay"]) if taken else plan_.weight_decay


def current(plan_: Plan, group: Dict[str, Any]) -> Plan:
    """Returns the plan with the values that its group has in this step."""
    if all(group.get(key) == value for key, value in plan_.taken.items()):
        return plan_
    return plan_._replace(momentum=momentum_now(group, plan_),
                          weight_decay=weight_decay_now(group, plan_))


def _can_follow(key: str, value: Any, now: Any) -> bool:
    if key == "betas":
        return bool(now[1] == value[1])
    # What was 0 was not taken over.
    return key in _MAY_CHANGE and bool(value)


def _check_unchanged(number: int, part: _Part) -> None:
    for key, value in part.taken.items():
        now = part.group.get(key)
        if now != value and not _can_follow(key, value, now):
            raise ValueError(
                f"{key} of parameter group {number} has changed from {value} to {now}, but the "
                "compressor keeps the one it was made with: make the optimizer with that of the "
                "state that it loads, or in the middle of training")


def described(plan_: Plan) -> Optional[str]:
    """Describes the values taken over, in one line; None when there are none."""
    values = {key: value for key, value in plan_.taken.items() if value}
    if not values:
        return None
    return ", ".join(f"{key}={value}" for key, value in values.items())
