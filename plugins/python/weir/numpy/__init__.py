"""Weir for programs with loops of their own over arrays of NumPy or CuPy.

    import weir.numpy as wn

Names and meanings are those of ``weir.torch``. Functions are thread-safe unless they say otherwise.
"""

from weir._build import explain, start_timeline, stop_timeline  # noqa: F401
from weir._init import init  # noqa: F401
from weir._job import (  # noqa: F401
    cross_rank, cross_size, is_homogeneous, is_initialized, local_rank, local_size, rank,
    shutdown, size)
from weir._ops.barrier import barrier  # noqa: F401
from weir._ops.handles import poll, synchronize  # noqa: F401
from weir._ops.join import join  # noqa: F401
from weir._ops.reduce_op import Adasum, Average, Max, Min, Product, Sum  # noqa: F401
from weir._process_sets import (  # noqa: F401
    ProcessSet, add_process_set, global_process_set, remove_process_set)
from weir.errors import (  # noqa: F401
    Corrupt, HorovodInternalError, InvalidArgument, Mismatch, PeerLost, ShutDown, TimedOut)
from weir.numpy._gradients import Gradients  # noqa: F401
from weir.numpy._objects import allgather_object, broadcast_object  # noqa: F401
from weir.numpy._reductions import (  # noqa: F401
    allreduce, allreduce_, allreduce_async, allreduce_async_, grouped_allreduce,
    grouped_allreduce_async, reducescatter, reducescatter_async)
from weir.numpy._transfers import (  # noqa: F401
    allgather, allgather_async, alltoall, alltoall_async, broadcast, broadcast_, broadcast_async,
    broadcast_async_)
