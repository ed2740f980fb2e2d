"""What this build can do, and what a running job can be told: Horovod's questions, Weir's answers.

None of them needs ``init``, but for ``mpi_threads_supported``.
"""

import os

from weir import _job

# MPICH's and Slurm's, Open MPI's: set for every process that an MPI launcher starts.
_STARTED_BY_MPI = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def mpi_built() -> bool:
    """True: the engine is built on MPI."""
    return True


def mpi_enabled() -> bool:
    """Whether this process was started as a rank of an MPI job, as ``weirrun`` does. False for a
    program that was started alone, whose job of one rank needs no transport."""
    return any(name in os.environ for name in _STARTED_BY_MPI)


def mpi_threads_supported() -> bool:
    """Whether a program may use MPI by itself (mpi4py) from any thread: in an MPI job always, as
    ``init`` insists on MPI_THREAD_MULTIPLE. Raises ValueError before ``init``."""
    _job.engine()
    return mpi_enabled()


def gloo_built() -> bool:
    """False: there is no Gloo in Weir; ``--gloo`` and its settings are accepted without effect."""
    return False


def gloo_enabled() -> bool:
    """False, as ``gloo_built``."""
    return False


def nccl_built() -> int:
    """The version of the NCCL that tensors of CUDA devices travel over, 22803 for 2.28.3; 0: there is
    none that could be used. It is found when a program runs (``WEIR_NCCL_LIBRARY``), not built in."""
    from weir import _core

    return _core.nccl_version()


def ddl_built() -> bool:
    """False: IBM's DDL is not supported."""
    return False


def ccl_built() -> bool:
    """False: Intel's oneCCL is not supported."""
    return False


def cuda_built() -> bool:
    """Whether Weir's library for GPUs is there (``WEIR_GPU_LIBRARY``): then tensors of CUDA devices
    are exchanged, where there are any."""
    from weir import _core

    return _core.has_gpu_library()


def rocm_built() -> bool:
    """False: AMD's GPUs are not supported."""
    return False


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Writes what this rank does from now on to a file that Perfetto and chrome://tracing open:
    ``file_path`` on rank 0; on rank 3 "run.json" becomes "run.rank3.json". It takes the place of a
    timeline that is being written. ``mark_cycles``: rounds of negotiation too.

    Raises ValueError before ``init``, and for a file that cannot be written.
    """
    _job.engine().start_timeline(os.fspath(file_path), bool(mark_cycles))


def stop_timeline() -> None:
    """Ends the timeline of this rank; does nothing when none is written. Raises ValueError before
    ``init``."""
    _job.engine().stop_timeline()
