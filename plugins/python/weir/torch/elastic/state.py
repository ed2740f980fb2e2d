"""``TorchState`` and its parts under the name of Horovod's module."""

from weir.torch.elastic._handlers import (  # noqa: F401
    ModelStateHandler, OptimizerStateHandler, SamplerStateHandler, StateHandler)
from weir.torch.elastic._state import TorchState  # noqa: F401
