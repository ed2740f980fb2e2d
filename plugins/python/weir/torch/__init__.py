"""Weir for PyTorch, with the names and meanings of ``horovod.torch``.

    import weir.torch as hvd

Functions are thread-safe unless they say otherwise. Docstrings say what each one raises.
"""

from weir._build import (  # noqa: F401
    ccl_built, cuda_built, ddl_built, gloo_built, gloo_enabled, mpi_built, mpi_enabled,
    mpi_threads_supported, nccl_built, rocm_built, start_timeline, stop_timeline)
from weir._init import init  # noqa: F401
from weir._job import (  # noqa: F401
    cross_rank, cross_size, is_homogeneous, is_initialized, local_rank, local_size, rank,
    shutdown, size)
from weir._process_sets import (  # noqa: F401
    ProcessSet, add_process_set, global_process_set, remove_process_set)
from weir.errors import (  # noqa: F401
    Corrupt, HorovodInternalError, InvalidArgument, Mismatch, PeerLost, ShutDown, TimedOut)
from weir.torch._allgather import allgather, allgather_async  # noqa: F401
from weir.torch._allreduce import (  # noqa: F401
    allreduce, allreduce_, allreduce_async, allreduce_async_)
from weir.torch._alltoall import alltoall, alltoall_async  # noqa: F401
from weir.torch._barrier import barrier  # noqa: F401
from weir.torch._join import join  # noqa: F401
from weir.torch._broadcast import (  # noqa: F401
    broadcast, broadcast_, broadcast_async, broadcast_async_)
from weir.torch._compression import Compression, Compressor  # noqa: F401
from weir.torch._dgc_momentum import DGCMomentumOptimizer  # noqa: F401
from weir.torch._functions import broadcast_optimizer_state, broadcast_parameters  # noqa: F401
from weir.torch._grouped_allreduce import (  # noqa: F401
    grouped_allreduce, grouped_allreduce_, grouped_allreduce_async, grouped_allreduce_async_)
from weir.torch._grouped_allgather import (  # noqa: F401
    grouped_allgather, grouped_allgather_async)
from weir.torch._grouped_reducescatter import (  # noqa: F401
    grouped_reducescatter, grouped_reducescatter_async)
from weir.torch._handles import poll, synchronize  # noqa: F401
from weir.torch._objects import allgather_object, broadcast_object  # noqa: F401
from weir.torch._optimizer import DistributedOptimizer  # noqa: F401
from weir.torch._reduce_op import Adasum, Average, Max, Min, Product, Sum  # noqa: F401
from weir.torch._reducescatter import reducescatter, reducescatter_async  # noqa: F401
from weir.torch._sparse import sparse_allreduce_async  # noqa: F401
from weir.torch._sync_batch_norm import SyncBatchNorm  # noqa: F401
from weir.torch import (  # noqa: F401  (They need the names above.)
    compression, elastic, functions, mpi_ops, optimizer, sync_batch_norm)
