"""Joining a job, together with the process sets that it has from the start."""

import contextlib
from typing import Any

from weir import _job, _process_sets


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Joins the job that ``weirrun`` started this process in; without it, a job of one rank.

    Blocks until all ranks have come. Calling it again does nothing. Settings come from the
    environment (``WEIR_*``, or else ``HOROVOD_*``).

    process_sets: a list of ``ProcessSet`` to register, the same on all ranks; "dynamic" is accepted
        without effect, as sets can be added at any time.

    Raises ValueError for a setting that is wrong and for sets that cannot be (``add_process_set``),
    TimedOut (a HorovodInternalError) when not all ranks come within ``WEIR_START_TIMEOUT`` seconds.
    """
    if comm is not None:
        raise ValueError(
            "init(comm=...) is not supported: start the job's ranks with weirrun -np N, and leave "
            "comm out")
    sets = _process_sets.checked(process_sets)
    if not _job.enter():
        return
    try:
        for each in sets:
            _process_sets.add_process_set(each)
    except Exception:
        with contextlib.suppress(Exception):  # Whatever becomes of it: the first error is the reason.
            _job.shutdown()
        raise
