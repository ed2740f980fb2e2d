"""Synchronising state over all ranks, under the name of Horovod's module."""

from weir.torch._ops.broadcast_parameters import broadcast_parameters  # noqa: F401
from weir.torch._ops.objects import allgather_object, broadcast_object  # noqa: F401
from weir.torch._optimizer.broadcast_optimizer_state import (  # noqa: F401
    broadcast_optimizer_state)
