"""The unsent part of an optimizer, in its ``state_dict()``.

Only tensors of bytes and plain values, so that ``torch.load(..., weights_only=True)`` reads it.
"""

import warnings
from typing import Any, Dict, List, Optional

import torch

from weir import _job
from weir._options import Options
from weir.torch._ops.allreduce import allreduce_
from weir.torch._optimizer.exchange.fused import FusedExchange

State = Dict[str, Any]


def as_tensor(saved: bytes) -> torch.Tensor:
    """Returns the bytes, which ``tensor.numpy().tobytes()`` gives back."""
    return torch.frombuffer(bytearray(saved), dtype=torch.uint8) if saved else torch.empty(0, dtype=torch.uint8)


def save(optimizer: Any) -> State:
    """This rank's state of the exchanges, and of the weight decay beside them."""
    if optimizer._weir_pending is not None:
        return optimizer._weir_pending
    exchanges: List[Optional[torch.Tensor]] = [
        as_tensor(exchange.save())
        if isinstance(exchange, FusedExchange) else None
        for exchange in optimizer._weir_exchanges]
    rank, size, count = optimizer._weir_place
    if not exchanges:  # The job was left, and the unsent part went with it.
        exchanges = [None] * count
    momentum = optimizer._weir_decay.momentum
    decay = {slot.name: momentum[slot.parameter].clone()
             for slot in optimizer._weir_slots.values() if slot.parameter in momentum}
    step = max((exchange.next_step for exchange in optimizer._weir_exchanges
                if isinstance(exchange, FusedExchange)), default=0)
    return {"rank": rank, "size": size, "step": step, "exchanges": exchanges,
            "momenta": [getattr(exchange, "last_momenta", [])
                        for exchange in optimizer._weir_exchanges],
            "decay_momenta": {slot.name: optimizer._weir_decay.last[slot.parameter]
                              for slot in optimizer._weir_slots.values()
                              if slot.parameter in optimizer._weir_decay.last},
            "compressor": _compressor_of(optimizer),
            "remembered": _remembered(optimizer) if step > 0 else "", "decay": decay}


def _compressor_of(optimizer: Any) -> str:
    options = optimizer._weir_options
    named = [f"{key}={value}" for key, value in sorted(options.items())
             if key.startswith("compressor[")]
    return ", ".join([options.get("compressor", "none"), *named])


def holds_back(options: Options) -> bool:
    """True if a compressor remembers what it did not send."""
    feeds_back = options.get("compressor") in ("dgc", "powersgd")  # By default.
    return options.get("ef", "vanilla" if feeds_back else "none") != "none"


def has_momentum(options: Options) -> bool:
    """True if a compressor has a momentum of its own."""
    return options.get("compressor") == "signum" or options.get("momentum", "none") != "none"


def _remembered(optimizer: Any) -> str:
    """Describes the state that the compressor keeps between steps; empty before the first step."""
    plans = [slot.plan for slot in optimizer._weir_slots.values()]
    unsent = any(holds_back(plan.compression) for plan in plans)
    momentum_ = any(plan.kind != "none" or has_momentum(plan.compression) for plan in plans)
    return " and ".join(["what was not sent yet"] * unsent + ["its momentum"] * momentum_)


def is_of(optimizer: Any, state: Optional[State]) -> bool:
    """True for the state of an optimizer that was made in the same way, and for none."""
    return state is None or (state.get("compressor") == _compressor_of(optimizer)
                             and len(state["exchanges"]) == optimizer._weir_place[2])


def fitting(optimizer: Any, state: State) -> Optional[State]:
    """Returns the state, if it belongs to the same compressor. None for another compressor's, whose
    memory means nothing here; a warning says what is left out.

    Raises ValueError for the state of an optimizer that was made differently.
    """
    if "fragments" in state:
        raise ValueError("the saved optimizer takes local steps (Outer), and this one exchanges every step: load its "
                         "state without the entry \"weir\"")
    now = _compressor_of(optimizer)
    former = state.get("compressor", now)
    if former != now:
        if state.get("remembered"):
            warnings.warn(
                f"the saved optimizer has compression {former}, this one has {now}: what the "
                f"former has remembered ({state['remembered']}) is left out, and training goes on "
                "without it")
        return None
    found, expected = len(state["exchanges"]), optimizer._weir_place[2]
    is_registered = optimizer._weir_place != (0, 0, 0)
    if is_registered and found != expected:
        raise ValueError(
            f"the saved optimizer has {found} groups of gradients, this one has {expected}: both "
            "must be made from the same parameters and compression")
    names = {slot.name for slot in optimizer._weir_slots.values()}
    unknown = sorted(set(state["decay"]) - names)
    if unknown:
        raise ValueError(f"the saved optimizer has a weight decay for '{unknown[0]}', which is not a "
                         "parameter of this one")
    return state


def carried(optimizer: Any, own: State) -> State:
    """Returns a rank's own state, as that of the place which it has now: ranks may have been dealt anew."""
    ranks = optimizer._weir_process_set.ranks
    place = {"rank": ranks.index(_job.rank()), "size": len(ranks)}
    return own if place.items() <= own.items() else {**own, **place, "carried": True}


def restore_pending(optimizer: Any) -> None:
    """Restores the loaded state, if that is still to be done. Collective."""
    if optimizer._weir_pending is not None:
        restore(optimizer, optimizer._weir_pending)
        optimizer._weir_pending = None


def restore(optimizer: Any, state: State) -> None:
    """Restores the result of ``save``, on this rank or, if only that was saved, on another one.
    Collective."""
    # Named so that ranks that wait for others in vain read why. Nothing is exchanged in it.
    name = (f"{optimizer._weir_name}/load_state_dict() on every rank, or on one and then "
            "broadcast_optimizer_state()")
    allreduce_(torch.zeros(0), name=name, process_set=optimizer._weir_process_set)
    own = (state["rank"], state["size"]) == optimizer._weir_place[:2]
    fused = [(exchange, saved) for exchange, saved in zip(optimizer._weir_exchanges,
                                                          state["exchanges"])
             if isinstance(exchange, FusedExchange) and saved is not None]
    momenta = dict(zip(optimizer._weir_exchanges, state.get("momenta", ())))
    for exchange, saved in fused:
        exchange.last_momenta = momenta.get(exchange, [])
        exchange.load(saved.numpy().tobytes(), own and not state.get("carried", False))
    if not own and any(exchange.compression for exchange, _ in fused):
        rank, size = optimizer._weir_place[:2]
        lost = ("save state_dict() on every rank to keep it exactly" if size == state["size"] else
                f"the state is of {state['size']} ranks and there are {size} now, so what the others "
                "of them had is left out")
        warnings.warn(f"what rank {state['rank']} of {state['size']} had not sent yet stands in "
                      f"for what rank {rank} had: {lost}")
    for slot in optimizer._weir_slots.values():
        if slot.name in state["decay"]:
            optimizer._weir_decay.momentum[slot.parameter] = state["decay"][slot.name].clone()
        slot.stepped = slot.stepped or state.get("step", 0) > 0
        if slot.name in state.get("decay_momenta", {}):
            optimizer._weir_decay.last[slot.parameter] = state["decay_momenta"][slot.name]
