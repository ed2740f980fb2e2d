"""The exchange of one optimizer's gradients as a group of the engine, step by step."""

import math
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch

from weir import _job
from weir.errors import HorovodInternalError
from weir._options import Options
from weir.torch._ops import engine_tensors
from weir.torch._optimizer.exchange.averaging import Reduction
from weir.torch._optimizer.exchange.late_results import LateResults
from weir.torch._optimizer.exchange.loan import Loan
from weir.torch._optimizer.exchange.member import Member
from weir.torch._optimizer.exchange.one_by_one import SingleExchange

if TYPE_CHECKING:
    from weir import _core


class FusedExchange:
    """Gradients that the engine fuses, compresses and exchanges as one group.

    ``submit`` may come from any thread; the rest belongs to one.
    """

    def __init__(self, name: str, members: Sequence[Member], compression: Options,
                 also_equal: Dict[str, str], reduction: Reduction, by_priority: bool = False) -> None:
        from weir import _core

        self._members = list(members)
        self.compression = compression
        self._arguments = (also_equal, reduction, by_priority)
        self._lock = threading.Lock()
        self._open = False
        self._loan = Loan()
        self._handles: Dict[int, int] = {}  # The engine's, by the gradients' numbers.
        self._late: Optional[LateResults] = None  # Those of the last step, until it was waited for.
        self._report: Optional[_core.StepReport] = None
        self._streams: Set[int] = set()  # Streams in which gradients of this step were submitted.
        self._waited_for = True  # The last finished step was waited for, by more than streams.
        groups = {id(member.group): member.group for member in members}
        numbers = {key: number for number, key in enumerate(groups)}
        self._groups = list(groups.values())
        self._rates: List[float] = []
        specs = [_core.GradientSpec(
            member.name, member.parameter.shape, engine_tensors.number_of(member.parameter.dtype),
            numbers[id(member.group)], member.priority, member.compression,
            engine_tensors.place_of(member.parameter)[0]) for member in members]
        self.skips_nonfinite = compression.get("skip_nonfinite") == "true"
        on_gpu = [engine_tensors.place_of(member.parameter)[0] >= 0 for member in members]
        # The end of a step must know if the step is skipped.
        self._runs_ahead = compression.get("skip_nonfinite", "false") == "false" and all(on_gpu)
        self.may_finish_later = not self.skips_nonfinite and not any(on_gpu)
        # What the compressor was made with, and a parameter group's in the coming step. None: it has
        # none of the optimizer's.
        self.momentum: Optional[Tuple[float, Callable[[Dict[str, Any]], float]]] = None
        self._momenta_now: List[float] = []
        self._momenta_before: List[float] = []
        self.last_momenta: List[float] = []
        """Of the last step that was taken; saved and loaded with the optimizer's state."""
        self.unused: Sequence[int] = ()
        """Gradients that no rank had in the step that was finished last."""
        self.loss_scale: Optional[float] = None
        """What gradients of the next step carry as a factor (mixed precision), results too."""
        self._group: _core.GradientGroup = _core.register(
            _job.engine(), name, specs, compression, also_equal, *reduction, by_priority)
        self.can_drop = self._group.undoable and _job.engine().dropped_passes

    def _scale_in_engine(self) -> float:
        # Gradients that are only summed may keep the factor; remembered or clipped ones must not.
        return self.loss_scale if self.compression and self.loss_scale is not None else 1.0

    def begin(self, undoable: bool) -> None:
        """Begins the step, unless it has begun. ``undoable``: ``drop`` may follow."""
        with self._lock:
            if not self._open:
                self._wait()
                self._rates = [float(group["lr"]) for group in self._groups]
                self._group.begin_step(self._rates, self._scale_in_engine(), undoable,
                                       *self._momenta())
                self._open = True

    def _momenta(self) -> Tuple[List[float], List[float]]:
        """Returns the momentum of each parameter group, now and in the last step; empty while all have
        had the compressor's."""
        if self.momentum is None:
            return [], []
        own, now_of = self.momentum
        self._momenta_now = [now_of(group) for group in self._groups]
        before = self.last_momenta or [own] * len(self._groups)
        changed = any(momentum != own for momentum in (*self._momenta_now, *before))
        return (self._momenta_now, before) if changed else ([], [])

    def rate_of(self, group: Dict[str, Any]) -> float:
        """Returns the learning rate of the last step."""
        return self._rates[self.number_of(group)]

    def number_of(self, group: Dict[str, Any]) -> int:
        """Returns the number of a parameter group among those of the exchange."""
        return [known is group for known in self._groups].index(True)

    def rates_and_momenta_now(self) -> Tuple[List[float], List[float]]:
        """Returns each parameter group's learning rate and momentum in the coming step; NaN: no momentum."""
        own, now_of = self.momentum or (math.nan, lambda group: math.nan)
        return [float(group["lr"]) for group in self._groups], [now_of(group) for group in self._groups]

    def copy_velocity(self, index: int, velocity: torch.Tensor) -> None:
        """Copies, between steps, the unsent part of a gradient on this rank into a contiguous tensor of
        float32 on the CPU."""
        self._wait()
        self._group.copy_velocity(index, velocity.data_ptr())

    def submit(self, index: int, gradient: torch.Tensor, apart: bool = False) -> None:
        """Hands over a complete gradient, which the result replaces. ``apart``: not before ``finish``,
        so that after ``drop`` it is still what it was."""
        if not self._open:
            self.begin(undoable=self.can_drop)
        if apart:
            lent, result = self._loan.lend_apart(index, gradient)
        else:
            lent = result = self._loan.lend(index, gradient)
        place = engine_tensors.place_of(lent)
        if place is not engine_tensors.ON_CPU:
            self._streams.add(place[1])
        self._handles[index] = self._group.submit(index, lent.data_ptr(), result.data_ptr(), place)

    def finish(self) -> None:
        """Makes every gradient hold its result: when this returns, or on a GPU for later work in the
        current stream, and in those in which gradients were submitted."""
        self.begin(undoable=False)
        try:
            self._group.end_step()
            self.unused = self._group.unused_by_all()
            self._waited_for = False
            if self._runs_ahead:
                self._wait_in_streams()
            else:
                self._wait()
        except Exception:
            self._loan.forget()
            raise
        finally:
            self._open = False
        self._loan.give_back()
        skipped = self.skipped()
        if not skipped:
            self._momenta_before, self.last_momenta = self.last_momenta, self._momenta_now
        self._scale_results(skipped)
        self._loan.forget()

    def finish_later(self) -> LateResults:
        """Ends the step, and returns its results, which may still be under way. Where ``may_finish_later``,
        and without a loss scale."""
        self.begin(undoable=False)
        loan, self._loan = self._loan, Loan()
        handles, self._handles = self._handles, {}
        try:
            self._group.end_step()
            self.unused = self._group.unused_by_all()
            self._group.go_on()
        finally:
            self._open = False
        self._waited_for = False
        self._momenta_before, self.last_momenta = self.last_momenta, self._momenta_now
        self._late = LateResults(loan, handles)
        return self._late

    def note_unused(self, indices: Sequence[int]) -> None:
        """Notes all gradients that this rank does not have in this step, before zeros are submitted in
        their place."""
        self._group.note_unused(indices)

    def drop(self) -> None:
        """Takes the step back, on all ranks, once it is exchanged. Gradients hold anything then."""
        self.begin(undoable=True)
        try:
            self._group.drop_step()
        finally:
            self._open = False
            self._streams.clear()
            self._loan.forget()

    def drop_finished(self) -> None:
        """Takes the last step back, on all ranks, after ``finish``."""
        self._wait()
        self._group.drop_step()
        self.last_momenta = self._momenta_before

    def _wait_in_streams(self) -> None:
        # In these streams the gradients' memory may be used again.
        current = engine_tensors.place_of(self._members[0].parameter)[1]
        for stream in self._streams | {current}:
            self._group.wait_in_stream(stream)
        self._streams.clear()

    def _wait(self) -> None:
        if self._waited_for:
            return
        self._waited_for = True
        late, self._late = self._late, None
        try:
            self._report = self._group.wait_step()
        except Exception as error:
            if late is not None:
                late.end(error)
            raise
        if late is not None:
            late.end(None)

    def report(self) -> "Optional[_core.StepReport]":
        """Returns the report of the last finished step, for which it waits. Raises the errors of the
        step that came after streams could wait for it."""
        self._wait()
        return self._report

    def skipped(self) -> bool:
        """True if no rank applied that step."""
        if self._runs_ahead:
            return False
        report = self.report()
        return report is not None and report.skipped

    def _scale_results(self, skipped: bool) -> None:
        """Scales results back: a program that has scaled the loss divides, and must see a skipped step."""
        factor = float("inf") if skipped else self._scale_in_engine()
        if self.loss_scale is not None and factor != 1.0:
            with torch.no_grad():
                self._loan.scale(factor)

    @property
    def under_way(self) -> bool:
        """True in the middle of a step."""
        return self._open

    def changed(self, name: str, without: Sequence[int], options: Options) -> Any:
        """Returns the exchange that replaces this one with fewer members, the others counted anew, and
        more options. Collective; no step may have begun."""
        kept = [member for i, member in enumerate(self._members) if i not in without]
        made: Any = (FusedExchange(name, kept, {**self.compression, **options}, *self._arguments)
                     if kept else SingleExchange(name, [], self._arguments[1]))
        made.momentum = self.momentum
        self._wait()
        self.close()  # Not before: the ranks may not agree.
        return made

    @property
    def finished_steps(self) -> int:
        """Steps whose exchange was finished, the last one perhaps not waited for."""
        return self._group.next_step + (not self._waited_for)

    @property
    def next_step(self) -> int:
        self._wait()
        return self._group.next_step

    def save(self) -> bytes:
        self._wait()
        return self._group.save()

    def load(self, state: bytes, own: bool) -> None:
        """Restores the result of ``save``, on this rank (``own``) or another. Collective."""
        self._wait()
        if own:
            self._group.load(state)
        else:
            self._group.adopt(state)

    def give_up(self) -> None:
        """Ends a step that an error has interrupted, on all ranks, so that the job can be left in good
        order. Its results are lost."""
        try:
            if self._open:
                self.finish()
            self._wait()
        except HorovodInternalError:
            pass  # Another rank has left already.

    def close(self) -> None:
        """Releases the engine."""
        self._group.close()


def report_of(exchanges: Sequence[Any]) -> Any:
    """Returns the engine's report of a step of all exchanges: of a skipped one, or else the last one;
    None: there is none."""
    reports = [report for report in (exchange.report() for exchange in exchanges)
               if report is not None]
    return next((report for report in reports if report.skipped), reports[-1] if reports else None)
