"""Handles of operations under way, and waiting for them.

A handle keeps its tensors alive until it was waited for. Thread-safe.
"""

import functools
import itertools
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple

from weir import _job


class _Pending(NamedTuple):
    engine: Any
    operations: List[int]      # Its handles.
    result: Callable[[], Any]  # Result of synchronize, once all of them are done.
    keep: Any                  # Tensors that the engine reads or writes meanwhile.


_numbers = itertools.count()
_pending: Dict[int, _Pending] = {}
_lock = threading.Lock()


def register(operations: List[int], result: Callable[[], Any], keep: Any = None) -> int:
    """Returns a handle for operations that were just submitted."""
    handle = next(_numbers)
    with _lock:
        _pending[handle] = _Pending(_job.engine(), operations, result, keep)
    return handle


def poll(handle: int) -> bool:
    """True if ``synchronize(handle)`` would return at once.

    Raises ValueError for a handle that is unknown or was waited for already.
    """
    with _lock:
        pending = _pending.get(handle)
    if pending is None:
        raise ValueError(f"Handle {handle} was not created or has been cleared.")
    return all(pending.engine.poll(operation) for operation in pending.operations)


def synchronize(handle: int) -> Any:
    """Waits for an operation and returns its result: a tensor, or for a grouped operation a tuple of
    them. None for a handle that is unknown or was waited for already.

    Raises HorovodInternalError, or one of the classes below it, when the operation failed.
    """
    with _lock:
        pending = _pending.pop(handle, None)
    if pending is None:
        return None
    _wait(pending.engine, pending.operations)
    return pending.result()


def wait_for(handle: int, seconds: float) -> bool:
    """Waits for an operation of one part; returns False, and the handle is as it was, when it has taken
    longer. Raises as ``synchronize`` does."""
    with _lock:
        pending = _pending[handle]
    try:
        done = bool(pending.engine.wait_for(pending.operations[0], seconds))
    except Exception:
        done = True
        raise
    finally:
        if done:
            with _lock:
                _pending.pop(handle, None)
    return done


def wait(operations: List[int]) -> None:
    """Waits for all of them, whether or not some fail; then raises the first error."""
    _wait(_job.engine(), operations)


def _wait(engine: Any, operations: List[int]) -> None:
    all_of(functools.partial(engine.wait, operation) for operation in operations)


def all_of(calls: Iterable[Callable[[], Any]]) -> None:
    """Makes every call, whether or not some fail; then raises the first error."""
    first = None
    for call in calls:
        try:
            call()
        except Exception as error:
            first = first or error
    if first is not None:
        raise first


def _settle() -> bool:
    """Called before the job is left: operations done by now keep their results. Waiting for the others
    raises ShutDown afterwards, because the engine is gone. Returns True if there are others."""
    with _lock:
        for handle, pending in _pending.items():
            try:
                if not all(pending.engine.poll(operation) for operation in pending.operations):
                    continue
                _wait(pending.engine, pending.operations)
                result = pending.result
            except Exception as error:
                result = functools.partial(_fail, error)
            _pending[handle] = pending._replace(operations=[], result=result)
        return any(pending.operations for pending in _pending.values())


def _fail(error: Exception) -> Any:
    raise error


def _let_go() -> None:
    """Called when no operation reads or writes the tensors any more."""
    with _lock:
        for handle, pending in _pending.items():
            _pending[handle] = pending._replace(
                keep=None, result=_nothing if pending.operations else pending.result)


def _nothing() -> None:
    """The result of an operation without one: waiting for it raises."""


_job.before_leaving(_settle)
_job.after_leaving(_let_go)
