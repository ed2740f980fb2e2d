"""Weir for PyTorch, with the names and meanings of ``horovod.torch``.

    import weir.torch as hvd

Functions are thread-safe unless they say otherwise. Docstrings say what each one raises.
"""

from weir._build import (  # noqa: F401
    ccl_built, cuda_built, ddl_built, explain, gloo_built, gloo_enabled, mpi_built, mpi_enabled,
    mpi_threads_supported, nccl_built, rocm_built, start_timeline, stop_timeline)
from weir._init import init  # noqa: F401
from weir._job import (  # noqa: F401
    cross_rank, cross_size, is_homogeneous, is_initialized, local_rank, local_size, rank,
    shutdown, size)
from weir._process_sets import (  # noqa: F401
    ProcessSet, add_process_set, global_process_set, remove_process_set)
from weir.errors import (  # noqa: F401
    Corrupt, HorovodInternalError, InvalidArgument, Mismatch, PeerLost, ShutDown, TimedOut)
from weir.torch._compression.compression import Compression  # noqa: F401
from weir.torch._compression.compressors import Compressor  # noqa: F401
from weir.torch._models.compress import compress  # noqa: F401
from weir.torch._models.hook import hook  # noqa: F401
from weir.torch._models.hook_state import HookState  # noqa: F401
from weir.torch._ops.allgather import allgather, allgather_async  # noqa: F401
from weir.torch._ops.allreduce import (  # noqa: F401
    allreduce, allreduce_, allreduce_async, allreduce_async_)
from weir.torch._ops.alltoall import alltoall, alltoall_async  # noqa: F401
from weir._ops.barrier import barrier  # noqa: F401
from weir.torch._ops.broadcast import (  # noqa: F401
    broadcast, broadcast_, broadcast_async, broadcast_async_)
from weir.torch._ops.broadcast_parameters import broadcast_parameters  # noqa: F401
from weir.torch._ops.grouped_allgather import (  # noqa: F401
    grouped_allgather, grouped_allgather_async)
from weir.torch._ops.grouped_allreduce import (  # noqa: F401
    grouped_allreduce, grouped_allreduce_, grouped_allreduce_async, grouped_allreduce_async_)
from weir.torch._ops.grouped_reducescatter import (  # noqa: F401
    grouped_reducescatter, grouped_reducescatter_async)
from weir._ops.handles import poll, synchronize  # noqa: F401
from weir._ops.join import join  # noqa: F401
from weir.torch._ops.objects import allgather_object, broadcast_object  # noqa: F401
from weir._ops.reduce_op import Adasum, Average, Max, Min, Product, Sum  # noqa: F401
from weir.torch._ops.reducescatter import reducescatter, reducescatter_async  # noqa: F401
from weir.torch._ops.sparse_allreduce import sparse_allreduce_async  # noqa: F401
from weir.torch._optimizer.broadcast_optimizer_state import (  # noqa: F401
    broadcast_optimizer_state)
from weir.torch._optimizer.dgc_momentum_optimizer import DGCMomentumOptimizer  # noqa: F401
from weir.torch._optimizer.distributed_optimizer import DistributedOptimizer  # noqa: F401
from weir.torch._outer.outer import Outer  # noqa: F401
from weir.torch.sync_batch_norm import SyncBatchNorm  # noqa: F401
from weir.torch import (  # noqa: F401  (They need the names above.)
    compression, elastic, functions, mpi_ops, optimizer, sync_batch_norm)
