"""The state of a training, to be saved, restored, and synchronised over all ranks."""

import functools
from typing import Any, Callable, Dict, List

import torch

from weir import _job
from weir.errors import HostsUpdatedInterrupt
from weir._ops import reduce_op
from weir.torch._ops.allreduce import allreduce
from weir.torch.elastic._handlers import (
    ObjectHandler, SamplerStateHandler, StateHandler, handler_of)


class TorchState:
    """A model, an optimizer, and further named values, such as ``epoch=0``, an ``ElasticSampler`` or a
    schedule of the learning rate: attributes of the state from then on.

    ``save`` keeps a copy in memory, ``restore`` goes back to it, ``sync`` (collective) copies rank 0's
    to all ranks. Not thread-safe.
    """

    def __init__(self, model: Any = None, optimizer: Any = None, **kwargs: Any) -> None:
        named = {"model": model, "optimizer": optimizer, **kwargs}
        self._handlers: Dict[str, StateHandler] = {}
        self._reset_callbacks: List[Callable[[], None]] = []
        self._hosts_updated = False
        for name, value in named.items():
            if name in ("model", "optimizer") and value is None:
                continue
            setattr(self, name, value)
            self._handlers[name] = handler_of(value) or self._plain_handler(name)

    def _plain_handler(self, name: str) -> ObjectHandler:
        return ObjectHandler(functools.partial(getattr, self, name),
                             functools.partial(setattr, self, name), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Saves at once an object that has a handler, because the saved one was another's. A plain
        value is saved when ``save`` is called."""
        handlers = self.__dict__.get("_handlers", {})
        handler = handler_of(value) if name in handlers else None  # May raise, with nothing done.
        super().__setattr__(name, value)
        if handler is not None:
            handlers[name] = handler
        elif not isinstance(handlers.get(name), (ObjectHandler, type(None))):
            handlers[name] = self._plain_handler(name)

    def register_reset_callbacks(self, callbacks: List[Callable[[], None]]) -> None:
        """Registers calls, in this order, for whenever the job was entered anew."""
        self._reset_callbacks.extend(callbacks)

    def commit(self) -> None:
        """Calls ``save`` and ``check_host_updates``. Every rank must call it, after the same step."""
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Raises HostsUpdatedInterrupt on all ranks if the launcher has told any of them that ranks come
        or go, or any had ``on_hosts_updated`` called. Collective."""
        updated = self._hosts_updated or _job.engine().hosts_updated
        mine = torch.tensor([int(updated)], dtype=torch.int32)
        if allreduce(mine, name="elastic.hosts", op=reduce_op.Max).item():
            self._hosts_updated = False
            raise HostsUpdatedInterrupt(skip_sync=False)

    def on_hosts_updated(self, *_: Any) -> None:
        """Notes that the set of hosts has changed; may come from another thread."""
        self._hosts_updated = True

    def save(self) -> None:
        """Keeps a copy of everything as it is now. Raises the error of the last step, and then keeps
        nothing."""
        for handler in self._handlers.values():
            handler.before_save()
        for handler in self._handlers.values():
            handler.save()

    def restore(self) -> None:
        """Restores everything from the last ``save``, ``commit`` or ``sync``."""
        for handler in self._handlers.values():
            handler.restore()

    def sync(self) -> None:
        """Copies everything of rank 0 to all ranks, and saves it. Collective."""
        for handler in self._handlers.values():
            handler.sync()

    def before_reset(self) -> None:
        """Called before the job is left."""
        for handler in self._handlers.values():
            handler.before_reset()

    def on_reset(self) -> None:
        """Called after the job was entered anew."""
        self._hosts_updated = False
        for handler in self._handlers.values():
            if isinstance(handler, SamplerStateHandler):
                handler.value.reset()
        for callback in self._reset_callbacks:
            callback()
