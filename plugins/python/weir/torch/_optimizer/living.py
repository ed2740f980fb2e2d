"""The optimizers of this process that exchange gradients, as long as they live."""

import weakref
from typing import TYPE_CHECKING, List

if TYPE_CHECKING:
    from weir.torch._optimizer.step import Distributed

_all: "weakref.WeakSet[Distributed]" = weakref.WeakSet()


def add(optimizer: "Distributed") -> None:
    """Adds an optimizer, without keeping it alive."""
    _all.add(optimizer)


def in_order() -> "List[Distributed]":
    """Returns all of them, in an order that is the same on all ranks."""
    return sorted(_all, key=lambda one: (one._weir_process_set.process_set_id or 0, one._weir_name))
