"""Exchange of whole buckets, for compressors that remember nothing of a parameter."""

import functools
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from weir import _job
from weir._process_sets import ProcessSet, id_for
from weir.torch._compression.options import Choice
from weir.torch._models.hook import Buckets
from weir._ops import handles, reduce_op
from weir.torch._ops import sparse_allreduce
from weir.torch._ops.allreduce import allreduce_async_
from weir.torch._optimizer import unfinished
from weir.torch._optimizer.exchange.averaging import Reduction
from weir.torch._optimizer.exchange.fused import FusedExchange
from weir.torch._optimizer.exchange.member import Member

_STATELESS = ("dense", "fp16", "bf16")
_FUSED = (torch.float32, torch.float16, torch.bfloat16)

_all: "weakref.WeakSet[WholeBuckets]" = weakref.WeakSet()


def are_enough(choice: Choice) -> bool:
    """True if the compressor is the same for all parameters, and forgets every gradient."""
    options = choice.options
    return (choice.own is None and options.get("compressor", "dense") in _STATELESS and options.get("ef", "none") == "none"
            and not any("[" in key for key in options))


class WholeBuckets(Buckets):
    """Takes each bucket as one tensor."""

    def __init__(self, model: Any, options: Dict[str, str], process_set: ProcessSet) -> None:
        super().__init__(model, (options, process_set))
        self._name = f"DistributedDataParallel.{process_set._next_number('model')}"
        self._options, self._process_set = options, process_set
        self._layout: List[Tuple[int, torch.dtype]] = []
        self._exchange: Optional[FusedExchange] = None
        self._is_rebuilt: Optional[bool] = None  # As the layout is.
        self._registrations = 0
        self._holds_back = True  # It is not known yet which buckets this pass has.
        self._held: List[torch.Tensor] = []
        self._taken = 0
        self._waits: List[Callable[[], Any]] = []
        _all.add(self)

    @property
    def exchanges(self) -> List[Any]:
        return [] if self._exchange is None else [self._exchange]

    def _submit(self, bucket: Any) -> Any:
        buffer = bucket.buffer()
        if buffer.is_sparse or buffer.dtype not in _FUSED:
            return self._submit_alone(bucket.index(), buffer)
        is_known = self._layout[self._taken:self._taken + 1] == [(buffer.numel(), buffer.dtype)]
        if self._exchange is not None and is_known and not self._holds_back:
            self._exchange.submit(self._taken, buffer)
            self._taken += 1
        elif self._taken == 0:
            self._holds_back = True
            self._held.append(buffer)
        else:
            raise RuntimeError(f"bucket {bucket.index()} of DistributedDataParallel has changed in the middle "
                               "of training")
        return lambda: buffer

    def _begin(self) -> None:
        former, self._is_rebuilt = self._is_rebuilt, self.is_rebuilt()
        self._holds_back = self._is_rebuilt != former
        self._held, self._waits, self._taken = [], [], 0

    def _submit_alone(self, number: int, buffer: torch.Tensor) -> Any:
        name = f"{self._name}/{number}"
        if not buffer.is_sparse:
            self._waits.append(functools.partial(handles.synchronize, allreduce_async_(
                buffer, name=name, process_set=self._process_set)))
            return lambda: buffer
        results: List[torch.Tensor] = []
        wait = sparse_allreduce.start(buffer, name, reduce_op.Average, self._process_set)
        self._waits.append(lambda: results.append(wait()))
        return lambda: results[0]

    def _finish(self) -> None:
        if self._held:
            self._submit_held()
        if self._exchange is not None:
            self._waits.append(self._exchange.finish)
        handles.all_of(self._waits)
        self._held, self._waits = [], []

    def _submit_held(self) -> None:
        layout = [(buffer.numel(), buffer.dtype) for buffer in self._held]
        if self._exchange is None or layout != self._layout:
            self._exchange = self._register(self._held, layout)
        for index, buffer in enumerate(self._held):
            self._exchange.submit(index, buffer)

    def _register(self, buffers: List[torch.Tensor], layout: List[Tuple[int, torch.dtype]]
                  ) -> FusedExchange:
        self._release()
        self._layout = layout
        self._registrations += 1
        members = [Member(f"bucket {i}", buffer, {"lr": 1.0}, len(buffers) - i)
                   for i, buffer in enumerate(buffers)]
        reduction = Reduction(reduce_op.Average, 1.0, 1.0, id_for(self._process_set, "compress"))
        return FusedExchange(f"{self._name}/{self._registrations}", members, self._options, {}, reduction)

    def _release(self) -> None:
        if self._exchange is not None:
            unfinished.release([self._exchange])
        self._exchange, self._layout = None, []

    def leave(self) -> None:
        """Releases the engine, as the job ends."""
        self._release()
        self._held, self._waits = [], []


def _before_leaving() -> None:
    for each in list(_all):
        each.leave()


_job.before_leaving(_before_leaving)
