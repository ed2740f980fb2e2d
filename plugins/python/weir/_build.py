"""Properties of this build and of a running job: Horovod's questions, Weir's answers.

Only ``mpi_threads_supported`` needs ``init``.
"""

import os

from weir import _job

# Variables of MPICH and Slurm, and of Open MPI, set for every process that an MPI launcher starts.
_STARTED_BY_MPI = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def mpi_built() -> bool:
    """True: the engine is built on MPI."""
    return True


def mpi_enabled() -> bool:
    """True if this process was started as a rank of an MPI job, as ``weirrun`` does. False for a
    program that was started alone, whose job of one rank needs no transport."""
    return any(name in os.environ for name in _STARTED_BY_MPI)


def mpi_threads_supported() -> bool:
    """True if a program may use MPI itself (mpi4py) from any thread: always in an MPI job, because
    ``init`` insists on MPI_THREAD_MULTIPLE. Raises ValueError before ``init``."""
    _job.engine()
    return mpi_enabled()


def gloo_built() -> bool:
    """False: there is no Gloo in Weir; ``--gloo`` means its UCX."""
    return False


def gloo_enabled() -> bool:
    """False, like ``gloo_built``."""
    return False


def nccl_built() -> int:
    """Version of the NCCL that carries tensors of CUDA devices, 22803 for 2.28.3; 0 if none can be
    used. It is found when a program runs (``WEIR_NCCL_LIBRARY``), not built in."""
    from weir import _core

    return _core.nccl_version()


def ddl_built() -> bool:
    """False: IBM's DDL is not supported."""
    return False


def ccl_built() -> bool:
    """False: Intel's oneCCL is not supported."""
    return False


def cuda_built() -> bool:
    """True if Weir's library for GPUs is found (``WEIR_GPU_LIBRARY``): tensors of CUDA devices can then
    be exchanged."""
    from weir import _core

    return _core.has_gpu_library()


def rocm_built() -> bool:
    """False: AMD's GPUs are not supported."""
    return False


def explain() -> str:
    """Says, in lines for people, how the gradients of each optimizer travel, and why: on the first rank of
    its process set, which plans for all; "" on others. Raises ValueError before ``init``."""
    return str(_job.engine().explain())


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Records this rank from now on in a file that Perfetto and chrome://tracing open: ``file_path`` on
    rank 0; on rank 3 "run.json" becomes "run.rank3.json". Replaces a timeline that is being written.
    ``mark_cycles`` adds negotiation rounds.

    Raises ValueError before ``init``, and for a file that cannot be written.
    """
    _job.engine().start_timeline(os.fspath(file_path), bool(mark_cycles))


def stop_timeline() -> None:
    """Ends the timeline of this rank; no effect when none is written. Raises ValueError before
    ``init``."""
    _job.engine().stop_timeline()
