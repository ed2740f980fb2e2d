"""The state of a communication hook that a program registers by itself, without an optimizer."""

from typing import Any, Dict

import torch

from weir._init import init
from weir._process_groups import set_of
from weir.errors import InvalidArgument
from weir.torch._compression.compression import Compression
from weir.torch._compression.options import choice_of
from weir.torch._models import checks, optimizers, whole_buckets
from weir.torch._models.hook import Buckets
from weir.torch._models.parameter_buckets import ParameterBuckets
from weir.torch._models.whole_buckets import WholeBuckets
from weir.torch._optimizer.by_buckets import ByBuckets

_WITH_MOMENTUM = ("dgc", "signum")


class HookState:
    """The state for ``model.register_comm_hook(state, weir.torch.hook)``. Collective; joins the job first,
    if ``init`` was not called.

    compression: as for ``DistributedOptimizer``, without momentum: ``dgc`` and ``signum`` take that over
        from the optimizer, and are for ``compress``.
    process_set: as for ``compress``.

    What a compressor holds back is in ``state_dict()``, which belongs into the program's checkpoints. It
    stays there for a backward pass that no step follows, too; with ``compress`` it does not.

    Raises ValueError for a compressor that takes momentum or weight decay over, and as
    ``DistributedOptimizer`` does.
    """

    def __init__(self, model: torch.nn.parallel.DistributedDataParallel,
                 compression: Any = Compression.none, *, process_set: Any = None) -> None:
        checks.wrapped(model)
        init()
        ranks = set_of(model.process_group if process_set is None else process_set)
        choice = choice_of(compression)
        _check(choice.options)
        self._optimizer: Any = None
        self._buckets: Buckets
        if whole_buckets.are_enough(choice):
            self._buckets = WholeBuckets(model, choice.options, ranks)
            return
        # Its exchange, and what compressors remember; nobody calls its step().
        self._optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        optimizers.become(self._optimizer, ByBuckets, list(model.module.named_parameters()), choice, ranks)
        self._buckets = ParameterBuckets(model, ranks, are_steps=True)
        self._buckets.add(self._optimizer)

    def take(self, bucket: Any) -> Any:
        """Called by the hook: returns a future of the bucket's result."""
        return self._buckets.take(bucket)

    def state_dict(self) -> Dict[str, Any]:
        """Returns what this rank's compressor holds back; empty if it holds nothing back."""
        return {} if self._optimizer is None else dict(self._optimizer.state_dict()["weir"])

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores a ``state_dict``; as for ``DistributedOptimizer`` every rank loads its own, or rank
        0's."""
        if self._optimizer is not None and state_dict:
            self._optimizer.load_state_dict({**self._optimizer.state_dict(), "weir": state_dict})


def _check(options: Dict[str, str]) -> None:
    for key, value in options.items():
        name = key.split("[")[0]
        if (name == "compressor" and value in _WITH_MOMENTUM
                or name in ("momentum", "momentum_mu", "weight_decay") and value != "none"):
            raise InvalidArgument(
                f"{key}={value} takes momentum or weight decay over from an optimizer, which a hook does not "
                "know: call weir.torch.compress(model, optimizer, compression) instead")
