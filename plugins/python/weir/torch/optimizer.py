"""``DistributedOptimizer`` under the name of Horovod's module of it."""

from weir.torch._optimizer.distributed_optimizer import DistributedOptimizer  # noqa: F401
