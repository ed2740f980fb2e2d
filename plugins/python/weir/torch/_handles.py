"""Handles of operations under way, and waiting for them.

A handle keeps its tensors alive until it was waited for. Thread-safe.
"""

import functools
import itertools
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple

from weir import _job


class _Pending(NamedTuple):
    operations: List[int]      # The engine's own handles.
    result: Callable[[], Any]  # What synchronize returns, once all of them are done.
    keep: Any                  # Tensors that the engine reads or writes meanwhile.


_numbers = itertools.count()
_pending: Dict[int, _Pending] = {}
_lock = threading.Lock()


def register(operations: List[int], result: Callable[[], Any], keep: Any = None) -> int:
    """A handle for operations that were just submitted."""
    handle = next(_numbers)
    with _lock:
        _pending[handle] = _Pending(operations, result, keep)
    return handle


def poll(handle: int) -> bool:
    """Whether ``synchronize(handle)`` would return at once.

    Raises ValueError for a handle that is unknown or was waited for already.
    """
    with _lock:
        pending = _pending.get(handle)
    if pending is None:
        raise ValueError(f"Handle {handle} was not created or has been cleared.")
    engine = _job.engine()
    return all(engine.poll(operation) for operation in pending.operations)


def synchronize(handle: int) -> Any:
    """Waits for an operation and returns its result: a tensor, for a grouped operation a tuple of
    them. None for a handle that is unknown or was waited for already.

    Raises HorovodInternalError, or one of the classes below it, when the operation failed.
    """
    with _lock:
        pending = _pending.pop(handle, None)
    if pending is None:
        return None
    wait(pending.operations)
    return pending.result()


def wait(operations: List[int]) -> None:
    """Waits for all of them, whatever becomes of each; then raises the first error."""
    engine = _job.engine()
    all_of(functools.partial(engine.wait, operation) for operation in operations)


def all_of(calls: Iterable[Callable[[], Any]]) -> None:
    """Makes every call, whatever becomes of each; then raises the first error."""
    first = None
    for call in calls:
        try:
            call()
        except Exception as error:
            first = first or error
    if first is not None:
        raise first


def _forget_all() -> None:
    with _lock:
        _pending.clear()


_job.after_leaving(_forget_all)
