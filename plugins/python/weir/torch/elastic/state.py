"""``TorchState`` and what it is made of under the name of Horovod's module of it."""

from weir.torch.elastic._handlers import (  # noqa: F401
    ModelStateHandler, OptimizerStateHandler, SamplerStateHandler, StateHandler)
from weir.torch.elastic._state import TorchState  # noqa: F401
