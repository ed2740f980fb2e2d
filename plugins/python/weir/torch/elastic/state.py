"""``TorchState`` under the name of Horovod's module of it."""

from weir.torch.elastic._state import TorchState  # noqa: F401
