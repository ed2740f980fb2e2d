"""The communication hook of ``DistributedDataParallel``."""

import weakref
from typing import Any, Callable, List, Tuple

import torch


class Buckets:
    """The state of the hook for one model: takes the buckets of each backward pass, and finishes their
    exchange when the pass ends. Not thread-safe."""

    def __init__(self, model: Any, choice: Any) -> None:
        """`choice`: how it exchanges gradients; states of equal choices do the same."""
        self.choice = choice
        self._model = weakref.ref(model)
        # A graph that is static is recorded in the first pass, and its buckets come when that has ended.
        self._comes_late = bool(model.static_graph)
        self._has_joined = False  # The pass is another rank's, with which this one keeps up.
        self._promised: List[Tuple[Any, Callable[[], torch.Tensor]]] = []  # Futures and their results.

    def is_rebuilt(self) -> bool:
        """True once DistributedDataParallel has built its buckets anew, which it does when it knows in
        which order gradients come."""
        return bool(getattr(self._model(), "_has_rebuilt_buckets", False))

    def take(self, bucket: Any) -> Any:
        """Returns a future of the bucket's result."""
        if bucket.index() == 0:
            self._promised.clear()  # Of a pass that has failed.
            self._has_joined = not _call_at_the_end(_nothing)
            self._begin()
        result = self._submit(bucket)
        buffer = bucket.buffer()
        devices = [buffer.device] if buffer.is_cuda else None
        future: Any = (torch.futures.Future(devices=devices) if devices  # type: ignore[arg-type]
                       else torch.futures.Future())
        self._promised.append((future, result))
        if bucket.is_last():
            self._end_with_the_pass()
        return future

    def _end_with_the_pass(self) -> None:
        if self._has_joined or self._comes_late:
            self._comes_late = False
            self._end()
        else:
            _call_at_the_end(self._end)

    def _end(self) -> None:
        promised, self._promised = self._promised, []
        self._finish()
        for future, result in promised:
            future.set_result(result())

    @property
    def exchanges(self) -> List[Any]:
        """Returns the exchanges of the model's gradients; those of optimizers are not the model's."""
        return []

    def _begin(self) -> None:
        """Called before the first bucket of a pass. What a pass that has failed left is forgotten."""

    def _submit(self, bucket: Any) -> Any:
        """Submits the bucket's content; returns a function for its result, once ``_finish`` is over."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Finishes the exchange of all buckets of a pass. Collective."""
        raise NotImplementedError

    def __getstate__(self) -> Any:
        return {}  # A saved model is wrapped anew where it is loaded.

    def __deepcopy__(self, _: Any) -> "Buckets":
        return self  # It belongs to the model that it was made for.


def _call_at_the_end(call: Callable[[], None]) -> bool:
    """Calls it when the backward pass ends; returns False outside of one."""
    try:
        torch.autograd.Variable._execution_engine.queue_callback(call)
    except RuntimeError:
        return False
    return True


def _nothing() -> None:
    """Does nothing."""


# Annotations would have to be types that not every PyTorch has.
def hook(state, bucket):  # type: ignore[no-untyped-def]
    """The hook, for ``register_comm_hook(state, hook)`` of a ``DistributedDataParallel``: exchanges its
    buckets through Weir. ``state``: a ``HookState``."""
    if not hasattr(state, "take"):
        raise TypeError(f"register_comm_hook({state!r:.60}, weir.torch.hook): give weir.torch.HookState(model, "
                        "compression) as the state")
    return state.take(bucket)
