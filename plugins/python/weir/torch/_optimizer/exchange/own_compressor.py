"""The exchange of gradients that a program compresses itself, with its own ``Compressor``."""

import functools
from typing import Any, List, Sequence

import torch

from weir._process_sets import ProcessSet
from weir._options import Options
from weir._ops import handles
from weir.torch._ops.allreduce import allreduce_async_
from weir.torch._optimizer.exchange.averaging import Reduction
from weir.torch._optimizer.exchange.member import Member
from weir.torch._optimizer.exchange.one_by_one import Unfused


class OwnExchange(Unfused):
    """Gradients that are compressed here, all-reduced one by one and decompressed. The results of the
    program's code are not known before, so the engine cannot fuse them.

    ``submit`` may come from any thread; the rest belongs to one.
    """

    can_drop = False  # The program's code may remember what it has compressed.

    def __init__(self, name: str, members: Sequence[Member], reduction: Reduction, compressor: Any,
                 process_set: ProcessSet) -> None:
        self._name = name
        self._members = list(members)
        self._arguments = (reduction, compressor, process_set)
        self._under_way: List[Any] = []

    def changed(self, name: str, without: Sequence[int], _: Options) -> "OwnExchange":
        """Returns the same with fewer members."""
        return OwnExchange(name, [member for i, member in enumerate(self._members)
                                  if i not in without], *self._arguments)

    @torch.no_grad()
    def submit(self, index: int, gradient: torch.Tensor) -> None:
        reduction, compressor, process_set = self._arguments
        name = self._members[index].name
        compressed, context = self._pair(name, compressor.compress(gradient))
        handle = allreduce_async_(  # It keeps the tensor alive until it was waited for.
            compressed.contiguous(), name=f"{self._name}/{name}", op=reduction.op,
            prescale_factor=reduction.prescale, postscale_factor=reduction.postscale,
            process_set=process_set)
        self._under_way.append((handle, name, gradient, context))

    def _pair(self, name: str, made: Any) -> Any:
        if isinstance(made, tuple) and len(made) == 2 and torch.is_tensor(made[0]):
            return made
        raise TypeError(f"{self._own()}.compress has to return a tensor and what decompress needs; "
                        f"of the gradient of '{name}' it made {made!r:.60}")

    def _own(self) -> str:
        compressor = self._arguments[1]
        return getattr(compressor, "__name__", type(compressor).__name__)

    @torch.no_grad()
    def finish(self) -> None:
        """Waits until every gradient holds its result, whether or not some fail; then raises the first
        error."""
        under_way, self._under_way = self._under_way, []
        handles.all_of(functools.partial(self._take, *each) for each in under_way)

    def _take(self, handle: int, name: str, gradient: torch.Tensor, context: Any) -> None:
        compressor = self._arguments[1]
        found = compressor.decompress(handles.synchronize(handle), context)
        if not torch.is_tensor(found):
            raise TypeError(f"{self._own()}.decompress has to return a tensor; of the gradient of "
                            f"'{name}' it made {found!r:.60}")
        if found.shape != gradient.shape:
            raise ValueError(f"{self._own()}.decompress made {list(found.shape)} of the gradient of "
                             f"'{name}', whose shape is {list(gradient.shape)}")
        gradient.copy_(found)

    def give_up(self) -> None:
        """Ends a step that an error has interrupted. Leaving the job ends its operations."""
        self.close()

    def close(self) -> None:
        self._under_way.clear()
