"""Weir: gradient exchange for data-parallel training over slow networks.

``import weir.torch as hvd`` takes the place of ``import horovod.torch as hvd``.
"""

from weir.errors import (  # noqa: F401
    Corrupt, HorovodInternalError, InvalidArgument, Mismatch, PeerLost, ShutDown, TimedOut)
from weir._run import run  # noqa: F401
