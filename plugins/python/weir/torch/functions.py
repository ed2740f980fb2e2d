"""Bringing state to all ranks, under the name of Horovod's module of it."""

from weir.torch._functions import broadcast_optimizer_state, broadcast_parameters  # noqa: F401
from weir.torch._objects import allgather_object, broadcast_object  # noqa: F401
