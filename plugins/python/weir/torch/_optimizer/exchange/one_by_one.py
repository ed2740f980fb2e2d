"""The exchange of gradients that the engine does not fuse: each is an operation of its own."""

from typing import Any, List, Optional, Sequence

import torch

from weir import _job
from weir._options import Options
from weir._ops import handles
from weir.torch._ops import engine_tensors
from weir.torch._optimizer.exchange.averaging import Reduction
from weir.torch._optimizer.exchange.loan import Loan
from weir.torch._optimizer.exchange.member import Member


class Unfused:
    """Common part of exchanges whose gradients the engine takes one by one."""

    compression: Options = {}  # The engine does not compress.
    skips_nonfinite = False
    loss_scale: Optional[float] = None  # Stays on the gradients.
    can_drop = True
    momentum: Any = None  # The wrapped optimizer's affair.
    unused: Sequence[int] = ()  # Those that no rank has count as zeros.
    under_way = False  # What it has submitted, the module ``handles`` keeps.

    def begin(self, undoable: bool) -> None:
        """Like FusedExchange's; there is nothing to begin."""

    def drop_finished(self) -> None:
        """Like FusedExchange's; nothing is remembered."""

    def note_unused(self, indices: Sequence[int]) -> None:
        """Like FusedExchange's. Here they count as zeros even if no rank has them."""

    def report(self) -> None:
        """The engine reports only on groups."""

    def skipped(self) -> bool:
        return False


class SingleExchange(Unfused):
    """Gradients that are all-reduced one by one: types and reductions that cannot be fused."""

    def __init__(self, name: str, members: Sequence[Member], reduction: Reduction) -> None:
        self._name = name
        self._members = list(members)
        self._reduction = reduction
        self._operations: List[int] = []
        self._loan = Loan()

    @property
    def under_way(self) -> bool:  # type: ignore[override]
        """True if a gradient was submitted and not waited for."""
        return bool(self._operations)

    def changed(self, name: str, without: Sequence[int], _: Options) -> Any:
        """Returns the same with fewer members."""
        return SingleExchange(
            name, [member for i, member in enumerate(self._members) if i not in without],
            self._reduction)

    def submit(self, index: int, gradient: torch.Tensor) -> None:
        data = self._loan.lend(index, gradient)
        name = f"allreduce.{self._name}/{self._members[index].name}"
        self._operations.append(_job.engine().allreduce(
            name, data.data_ptr(), data.data_ptr(), engine_tensors.check(data), data.shape,
            *self._reduction, engine_tensors.place_of(data)))

    def give_up(self) -> None:
        """Like FusedExchange's. Leaving ends the operations; until then tensors are in use."""

    def finish(self) -> None:
        try:
            handles.wait(self._operations)
        except Exception:
            self._loan.forget()
            raise
        finally:
            self._operations.clear()
        self._loan.give_back()
        self._loan.forget()

    def drop(self) -> None:
        """Like FusedExchange's."""
        try:
            handles.wait(self._operations)
        finally:
            self._operations.clear()
            self._loan.forget()

    def close(self) -> None:
        pass
