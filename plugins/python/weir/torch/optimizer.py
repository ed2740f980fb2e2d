"""``DistributedOptimizer`` under the name of Horovod's module."""

from weir.torch._optimizer.distributed_optimizer import DistributedOptimizer  # noqa: F401
