"""What frameworks have in common, under the names of ``horovod.common``."""
