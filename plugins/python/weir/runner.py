"""``weir.run`` under the name of Horovod's package of it: ``from weir.runner import run``."""

from weir._run import run  # noqa: F401
