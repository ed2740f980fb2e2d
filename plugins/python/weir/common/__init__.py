"""Common part of the frameworks, under the names of ``horovod.common``."""
