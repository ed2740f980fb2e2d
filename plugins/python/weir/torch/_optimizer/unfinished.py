"""Exchanges that were begun and never finished: the program has let go of their optimizer, or leaves the
job, after a backward pass that no step has followed.

Their gradients may be on the way, and other ranks may wait for them. So they are kept until the engine
has ended, which gives them up in good order.
"""

import atexit
import ctypes
from typing import Any, Iterable, List

from weir import _job

_kept: List[Any] = []


def release(exchanges: Iterable[Any]) -> None:
    """Closes exchanges, unfinished ones once the job is left."""
    for exchange in exchanges:
        if exchange.under_way:
            _kept.append(exchange)
        else:
            exchange.close()


def _close() -> None:
    while _kept:
        _kept.pop().close()


def _keep_for_ever() -> None:
    # The engine of a program that ends leaves the job after the interpreter has gone.
    for exchange in _kept:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(exchange))


_job.after_leaving(_close)
atexit.register(_keep_for_ever)
