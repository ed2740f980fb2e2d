"""Runs a training function again after recoverable errors."""

import functools
from typing import Any, Callable

from weir import _job, _process_sets
from weir._init import enter, init
from weir.errors import HorovodInternalError, HostsUpdatedInterrupt, Mismatch


def reset() -> None:
    """Leaves the job and enters it anew, with the same process sets. In an elastic job (``weirrun
    --min-np``) those that are left enter it, with new numbers: a set keeps the members that are left, and
    one without any is not registered again. Collective; raises as ``init`` does."""
    process_sets = _process_sets.registered()
    if not _job.is_elastic():
        _job.shutdown()
        return init(process_sets=process_sets)
    members = [(each, each.ranks) for each in process_sets]
    # Who has not got the state yet is still as new.
    former_rank = _job.rank() if _job.is_ready() else None
    _job.shutdown()
    return enter(former_rank, members)


def run(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates ``func(state, ...)``, so that it is called with a state that is equal on all ranks;
    and again, after the job was left and entered anew, when it raised

    * HorovodInternalError: with the state of the last ``commit``,
    * HostsUpdatedInterrupt: with the state as it was.

    All ranks that are left must raise, as they do when the job has failed. In an elastic job the loss of a
    rank is such a failure. Mismatch is raised to the caller, because
    ranks that disagree would do so again. So are errors while the job is entered anew, and
    HorovodInternalError if it cannot be entered, as over MPI once the engine itself has failed: then
    start the program again, and it continues from what it has saved.
    """

    @functools.wraps(func)
    def wrapper(state: Any, *arguments: Any, **keywords: Any) -> Any:
        skip_sync = False
        while True:
            failure = None
            try:
                if not skip_sync:
                    state.sync()
                    _job.set_ready()
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
