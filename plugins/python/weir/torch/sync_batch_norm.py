"""``SyncBatchNorm`` under the name of Horovod's module of it."""

from weir.torch._sync_batch_norm import SyncBatchNorm  # noqa: F401
