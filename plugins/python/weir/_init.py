"""Joining a job, together with the process sets that it has from the start."""

import contextlib
from typing import Any, Optional

from weir import _job, _process_sets
from weir.errors import HorovodInternalError, InvalidArgument, Mismatch


def enter(former_rank: Optional[int], members: _process_sets.Members) -> None:
    """Joins the job. In an elastic one that has begun already it brings the process sets, too, which this
    rank has had with these members, and starts again when a rank is lost meanwhile."""
    while _job.enter(former_rank) and _job.engine().epoch > 1:
        try:
            return _process_sets.enter_epoch(members)
        except Mismatch:
            raise
        except HorovodInternalError:
            _job.shutdown()


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Joins the job that ``weirrun``, ``torchrun``, ``srun`` or MPI's ``mpiexec`` started this process in;
    without any of them, a job of one rank.

    Blocks until all ranks have joined. Calling it again has no effect. Settings come from the
    environment (``WEIR_*``, or else ``HOROVOD_*``).

    comm: all ranks of the job, as a list of numbers or as a communicator of mpi4py, which changes
        nothing. Some ranks alone cannot be a job; make a process set of them.
    process_sets: a list of ``ProcessSet`` to register, the same on all ranks; "dynamic" is accepted
        without effect, because sets can be added at any time.

    Raises ValueError for ``comm`` with other ranks than the job's, for a wrong setting and for
    impossible sets (``add_process_set``), TimedOut (a HorovodInternalError) when not all ranks join
    within ``WEIR_START_TIMEOUT`` seconds. If MPI itself waits for a rank that does not come, or has
    ended without calling this, ``weirrun`` ends the job and names that rank.
    """
    ranks = None
    if comm is not None:
        try:
            ranks = _process_sets.ProcessSet(comm).ranks
        except ValueError as error:
            raise InvalidArgument(f"init(comm={comm!r:.60}): give all ranks of the job, as a list of "
                                  "numbers or as a communicator of mpi4py, or leave it out") from error
    sets = _process_sets.checked(process_sets)
    if _job.is_initialized():
        return
    enter(None, [])
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
