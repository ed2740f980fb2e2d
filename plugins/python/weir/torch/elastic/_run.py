"""Runs a training function again after recoverable errors."""

import functools
from typing import Any, Callable

from weir import _job, _process_sets
from weir._init import init
from weir.errors import HorovodInternalError, HostsUpdatedInterrupt, Mismatch


def reset() -> None:
    """Leaves the job and enters it anew, with the same process sets. Collective; raises as ``init``
    does."""
    process_sets = _process_sets.registered()
    _job.shutdown()
    init(process_sets=process_sets)


def run(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates ``func(state, ...)``, so that it is called with a state that is equal on all ranks;
    and again, after the job was left and entered anew, when it raised

    * HorovodInternalError: with the state of the last ``commit``,
    * HostsUpdatedInterrupt: with the state as it was.

    All ranks must raise, as they do when the job has failed. Mismatch is raised to the caller, because
    ranks that disagree would do so again. So are errors while the job is entered anew, and
    HorovodInternalError if it cannot be entered, as over MPI once the engine itself has failed: then
    start the program again, and it continues from what it has saved.
    """

    @functools.wraps(func)
    def wrapper(state: Any, *arguments: Any, **keywords: Any) -> Any:
        skip_sync = False
        while True:
            failure = None
            if not skip_sync:
                state.sync()
            try:
                return func(state, *arguments, **keywords)
            except Mismatch:
                raise
            except HorovodInternalError as error:
                failure = error
                state.restore()
                skip_sync = False
            except HostsUpdatedInterrupt as interrupt:
                skip_sync = interrupt.skip_sync
            state.before_reset()
            try:
                reset()
            except Exception as refusal:
                if failure is None:
                    raise
                raise failure from refusal  # The first error is the one to fix.
            state.on_reset()

    return wrapper
