"""Joining a job, together with the process sets that it has from the start."""

import contextlib
from typing import Any

from weir import _job, _process_sets
from weir.errors import InvalidArgument


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Joins the job that ``weirrun`` started this process in; without it, a job of one rank.

    Blocks until all ranks have come. Calling it again does nothing. Settings come from the
    environment (``WEIR_*``, or else ``HOROVOD_*``).

    comm: all ranks of the job, as a list of numbers or as a communicator of mpi4py, which changes
        nothing. Some of them cannot be a job of their own: they are a process set.
    process_sets: a list of ``ProcessSet`` to register, the same on all ranks; "dynamic" is accepted
        without effect, as sets can be added at any time.

    Raises ValueError for ``comm`` with other ranks than the job's, for a setting that is wrong and
    for sets that cannot be (``add_process_set``), TimedOut (a HorovodInternalError) when not all
    ranks come within ``WEIR_START_TIMEOUT`` seconds. Where MPI itself waits for a rank that does not
    come, or has ended without calling this, ``weirrun`` ends the job and says which rank that is.
    """
    ranks = None
    if comm is not None:
        try:
            ranks = _process_sets.ProcessSet(comm).ranks
        except ValueError as error:
            raise InvalidArgument(f"init(comm={comm!r:.60}): give all ranks of the job, as a list of "
                                  "numbers or as a communicator of mpi4py, or leave it out") from error
    sets = _process_sets.checked(process_sets)
    if not _job.enter():
        return
    try:
        if ranks is not None and ranks != list(range(_job.size())):
            raise InvalidArgument(
                f"init(comm=...) has the ranks {ranks}, and the job has {_job.size()}: leave comm "
                "out, start as many ranks as you need with weirrun -np N, and make a process set "
                "of some of them with init(process_sets=[ProcessSet(...)])")
        for each in sets:
            _process_sets.add_process_set(each)
    except Exception:
        with contextlib.suppress(Exception):  # The first error is the reason.
            _job.shutdown()
        raise
