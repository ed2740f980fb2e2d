"""Exceptions under the name of Horovod's module of them; all of Weir's are in ``weir.errors``."""

from weir.errors import HorovodInternalError, HostsUpdatedInterrupt  # noqa: F401
