"""What compressors of a group remember, as programs save it: {"weir": array of bytes}."""

from typing import TYPE_CHECKING, Any, Dict, Mapping

import numpy

if TYPE_CHECKING:
    from weir import _core


def saved(group: "_core.GradientGroup") -> Dict[str, Any]:
    return {"weir": numpy.frombuffer(group.save(), dtype=numpy.uint8)}


def bytes_of(state: Mapping[str, Any]) -> bytes:
    """Raises ValueError for what ``saved`` has not made."""
    if "weir" not in state:
        raise ValueError("this is not the result of state_dict(): it has no 'weir'")
    return numpy.asarray(state["weir"], dtype=numpy.uint8).tobytes()


def restore(group: "_core.GradientGroup", state: bytes, own: bool) -> None:
    """``own``: it is this rank's; otherwise another rank's, which stands for it."""
    if own:
        group.load(state)
    else:
        group.adopt(state)
