"""Horovod's module of exceptions. Weir's own are in ``weir.errors``."""

from weir.errors import HorovodInternalError, HostsUpdatedInterrupt  # noqa: F401


class HorovodVersionMismatchError(ImportError):
    """An extension was built for another version of its framework than is installed. Never raised:
    Weir's extension is not built for a framework."""

    def __init__(self, name: str, version: str, installed_version: str) -> None:
        super().__init__(f"built for {name} {version}, but {installed_version} is installed")
        self.name, self.version, self.installed_version = name, version, installed_version
