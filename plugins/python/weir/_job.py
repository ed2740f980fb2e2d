"""The one job that this process is a rank of: joining it, leaving it, and its size.

Horovod's counterpart is ``horovod.common.basics``; every framework's package exports these names.
"""

import atexit
import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

from weir import _topology, _torch_store
from weir.errors import HorovodInternalError, Mismatch

# The engine and MPI are loaded when first needed, mostly by init(). They take longer to load than the
# rest of the package, and a data loader's worker that imports the program needs neither.
if TYPE_CHECKING:
    from weir import _core

_NOT_INITIALIZED = "Horovod has not been initialized; use hvd.init()."

_lock = threading.Lock()
_engine: "Optional[_core.Job]" = None
_places: Optional[_topology.Topology] = None
_is_forked = False
_is_ready = False
_after_entering: List[Callable[[], None]] = []
_before_leaving: List[Callable[[], Optional[bool]]] = []
_after_leaving: List[Callable[[], None]] = []
_exit_is_registered = False


def enter(former_rank: Optional[int] = None) -> bool:
    """Joins the job; see ``weir._init``. Returns False when this process has done so already.
    ``former_rank``: of this process in the last epoch of an elastic job, which it has left."""
    global _engine, _exit_is_registered, _is_ready, _places
    if _is_forked:
        raise _shut_down_in_child()
    with _lock:
        if _engine is not None:
            return False
        from weir import _core

        _engine, _places = _join(_core, former_rank)
        _is_ready = _is_ready or _engine.epoch == 1
        if not _exit_is_registered:
            _exit_is_registered = True
            _remember_why_the_program_ends()
            atexit.register(_leave_at_exit)
    for call in _after_entering:
        call()
    return True


def _join(core: Any, former_rank: Optional[int]) -> "Tuple[_core.Job, _topology.Topology]":
    """In an elastic job the ranks are dealt anew, again and again, until none is lost meanwhile."""
    while True:
        try:
            with _torch_store.token() as token:
                joined = core.Job(token)
            try:
                return joined, _topology.gather(joined, former_rank)
            except Exception:
                joined.leave()
                raise
        except Mismatch:
            raise
        except HorovodInternalError as error:
            if not is_elastic() or not error.ranks:
                raise


def is_elastic() -> bool:
    """True if the job's launcher lets it go on without ranks that are lost (``weirrun --min-np``)."""
    return "WEIR_LAUNCHER_ELASTIC" in os.environ


def set_ready() -> None:
    """Notes that this rank has what others need that come to an elastic job."""
    global _is_ready
    _is_ready = True
    engine().set_ready()


def is_ready() -> bool:
    """True since ``set_ready``, also after the job was left; and on all ranks that began the job."""
    return _is_ready


def former_ranks() -> Tuple[Optional[int], ...]:
    """Of each rank of this epoch of an elastic job, its number in the last one; None: it is new."""
    return _place().former_ranks


def shutdown() -> None:
    """Leaves the job, once the other ranks do so too. Operations under way elsewhere fail with
    ShutDown. No effect when there is no job. ``init`` may be called again afterwards, but not over MPI
    after the job has failed: start the process again then."""
    engine, _ = _release()
    if engine is None:
        return
    try:
        engine.leave()
    finally:
        for call in _after_leaving:
            call()


def _release() -> "Tuple[Optional[_core.Job], bool]":
    """Returns the engine, which this process then has no more, and whether operations are under way."""
    global _engine, _places
    with _lock:
        engine, _engine, _places = _engine, None, None
    if engine is None:
        return None, False
    return engine, any([call() for call in _before_leaving])


def is_initialized() -> bool:
    """True if ``init`` was called, and ``shutdown`` was not since."""
    return _engine is not None


def engine() -> "_core.Job":
    """Returns the engine of this process. Raises ValueError before ``init``, ShutDown in a forked
    child."""
    found = _engine
    if found is None:
        if _is_forked:
            raise _shut_down_in_child()
        raise ValueError(_NOT_INITIALIZED)
    return found


def after_entering(call: Callable[[], None]) -> None:
    """Makes a call whenever a job was joined, and now if there is one."""
    _after_entering.append(call)
    if is_initialized():
        call()


def before_leaving(call: Callable[[], Optional[bool]]) -> None:
    """Registers a call for whenever the job is left, while the engine still works: to release objects
    that refer to the engine. It returns True if operations are under way that use Python's memory."""
    _before_leaving.append(call)


def after_leaving(call: Callable[[], None]) -> None:
    """Registers a call for after the job was left: the engine uses no tensor any more."""
    _after_leaving.append(call)


def _place() -> _topology.Topology:
    found = _places
    if found is None:
        raise ValueError(_NOT_INITIALIZED)
    return found


def rank() -> int:
    """Number of this rank, 0 to size() - 1. Raises ValueError before ``init``, as all below do; in a
    forked child (a data loader's worker) all of them answer as in its parent."""
    return _place().rank


def size() -> int:
    """Number of ranks."""
    return _place().size


def local_rank() -> int:
    """Number of this rank among those of its host."""
    return _place().local_rank


def local_size() -> int:
    """Number of ranks on this host."""
    return _place().local_size


def cross_rank() -> int:
    """Number of this rank among those that have the same ``local_rank``, one for each host."""
    return _place().cross_rank


def cross_size() -> int:
    """Number of ranks with this ``local_rank``, one on each host that has so many ranks."""
    return _place().cross_size


def is_homogeneous() -> bool:
    """True if every host has the same number of ranks."""
    return _place().is_homogeneous


# --- the end of a program ---

_last_words: Optional[str] = None


def _remember_why_the_program_ends() -> None:
    """Keeps the exception that ends this rank, so that the other ranks read it."""
    shown = sys.excepthook

    def hook(kind, value, traceback):
        global _last_words
        _last_words = f"{kind.__name__}: {value}"
        shown(kind, value, traceback)

    sys.excepthook = hook


def _leave_at_exit() -> None:
    engine, busy = _release()
    if engine is None:
        return
    if _last_words is not None:
        engine.abort(f"the program ended with {_last_words}")
    elif not busy:
        engine.leave_at_exit()  # The exit code, which says how to leave, is not known to Python.
        return
    try:
        engine.leave()
    except Exception as error:  # The interpreter is ending: report it, and let it end.
        warnings.warn(f"the job was not left in good order: {error}")


# A forked child (a data loader's worker) is not a rank: it must not leave the job for its parent.
def _forget_in_child() -> None:
    global _engine, _is_forked
    _is_forked = _is_forked or _engine is not None
    _engine = None


def _shut_down_in_child() -> Exception:
    from weir.errors import ShutDown

    return ShutDown("this process was forked from a rank; Weir works in the rank itself only")


os.register_at_fork(after_in_child=_forget_in_child)
