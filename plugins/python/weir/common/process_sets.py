"""Process sets under the name of Horovod's module."""

from weir._process_sets import (  # noqa: F401
    ProcessSet, add_process_set, global_process_set, remove_process_set)
