"""``weir.run`` under the name of Horovod's package: ``from weir.runner import run``."""

from weir._run import run  # noqa: F401
