"""Weir: gradient exchange for data-parallel training over slow networks.

``import weir.torch as hvd`` takes the place of ``import horovod.torch as hvd``.
"""

from typing import TYPE_CHECKING

from weir._build import explain  # noqa: F401
from weir.errors import (  # noqa: F401
    Corrupt, HorovodInternalError, InvalidArgument, Mismatch, PeerLost, ShutDown, TimedOut)
from weir._run import run  # noqa: F401

if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    """Returns the version; only asking for it loads the engine."""
    if name == "__version__":
        from weir import _core

        return _core.version()
    raise AttributeError(f"module 'weir' has no attribute '{name}'")
