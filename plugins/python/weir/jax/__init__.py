"""Weir for JAX: an optimizer for optax, and operations that work inside ``jax.jit`` and outside.

    import weir.jax as wj

Names and meanings are those of ``weir.torch``. Functions are thread-safe unless they say otherwise.
"""

try:
    import jax  # noqa: F401
    import optax  # type: ignore[import-untyped]  # noqa: F401
except ImportError as error:
    raise ImportError(f"weir.jax works on JAX and optax, and one is missing ({error}): pip install 'weir[jax]'") from error

from weir._build import explain, start_timeline, stop_timeline  # noqa: F401
from weir._init import init  # noqa: F401
from weir._job import (  # noqa: F401
    cross_rank, cross_size, is_homogeneous, is_initialized, local_rank, local_size, rank,
    shutdown, size)
from weir._ops.join import join  # noqa: F401
from weir._ops.reduce_op import Adasum, Average, Max, Min, Product, Sum  # noqa: F401
from weir._process_sets import (  # noqa: F401
    ProcessSet, add_process_set, global_process_set, remove_process_set)
from weir.errors import (  # noqa: F401
    Corrupt, HorovodInternalError, InvalidArgument, Mismatch, PeerLost, ShutDown, TimedOut)
from weir.jax._operations import (  # noqa: F401
    allgather, allreduce, alltoall, barrier, broadcast, reducescatter)
from weir.jax._optimizer import DistributedState, DistributedTransformation, distributed  # noqa: F401
from weir.jax._start import broadcast_parameters  # noqa: F401
from weir.numpy._objects import allgather_object, broadcast_object  # noqa: F401
