"""Routes of records (docs/explanation/routes.md), as the engine's model of exchanges has them."""

from typing import Any, Tuple

from weir import _core

_WHOLE = ("dense", "masked_dense", "drain", "nccl_dense")
_SUMMED = ("summable", "factors", "nccl_summable", "drain_fp16", "drain_int8")
# A rank sends the others different parts of its payload, and records what all of them take.
_DIVIDED = ("split", "push_pull", "drain_int8")
_WIRE = {"gather": _core.WireRoute.ALLGATHER, "nccl_gather": _core.WireRoute.ALLGATHER,
         "split": _core.WireRoute.SPLIT, "hierarchical": _core.WireRoute.HIERARCHICAL,
         "push_pull": _core.WireRoute.PUSH_PULL}


def exchanged(route: str, dense: int, payload: int) -> Tuple[Any, int]:
    """Returns the kind of exchange, and the bytes of the array that it reduces if it does. Raises ValueError for a
    route without a model."""
    if route not in _WIRE and route not in _SUMMED + _WHOLE:
        what = " of summation servers (--servers, max_staleness)" if route == "servers" else ""
        raise ValueError(f"weir-simulate does not predict the route '{route}'{what}")
    return _WIRE.get(route, _core.WireRoute.ALLREDUCE), payload if route in _SUMMED else dense


def payload_of(route: str, recorded: int, ranks: int) -> int:
    """Returns the bytes of a whole payload, where an exchange has recorded so many."""
    return round(recorded * ranks / (ranks - 1)) if route in _DIVIDED and ranks > 1 else recorded


def sent(route: str, dense: int, recorded: int, hosts: int, slots: int) -> float:
    """Returns the bytes that leave a host in an exchange that has recorded so many for a rank."""
    others = hosts * slots - 1
    if route in _DIVIDED:
        return recorded * slots * (hosts - 1) * slots / others if others > 0 else 0.0
    kind, array = exchanged(route, dense, recorded)
    return float(_core.bytes_sent(kind, hosts, slots, array, recorded))
