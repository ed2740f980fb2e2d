"""Routes of records (docs/explanation/routes.md), as the engine's model of exchanges has them."""

from typing import Any, Tuple

from weir import _core

_SUMMED = ("summable", "factors", "nccl_summable")
_WIRE = {"gather": _core.WireRoute.ALLGATHER, "nccl_gather": _core.WireRoute.ALLGATHER,
         "split": _core.WireRoute.SPLIT, "hierarchical": _core.WireRoute.HIERARCHICAL,
         "push_pull": _core.WireRoute.PUSH_PULL}


def exchanged(route: str, dense: int, payload: int) -> Tuple[Any, int]:
    """Returns the kind of exchange, and the bytes of the array that it reduces if it does."""
    return _WIRE.get(route, _core.WireRoute.ALLREDUCE), payload if route in _SUMMED else dense
