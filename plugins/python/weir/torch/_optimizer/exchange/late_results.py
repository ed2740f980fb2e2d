"""Results of a step that the program waits for one by one, after it has gone on."""

from typing import Dict, Optional

from weir import _job
from weir.torch._optimizer.exchange.loan import Loan


class LateResults:
    """The results of one exchange's step. One thread at a time."""

    def __init__(self, loan: Loan, handles: Dict[int, int]) -> None:
        self._engine = _job.engine()  # Also while the job is being left.
        self._loan = loan  # Keeps the memory that the engine writes to.
        self._handles = handles
        self._are_there = False
        self._error: Optional[BaseException] = None

    def wait(self, index: int) -> None:
        """Waits until the gradient with that number holds its result. Raises the engine's errors."""
        if self._error is not None:
            raise self._error
        if not self._are_there:
            self._engine.wait(self._handles.pop(index))
        self._loan.give_back_one(index)

    def end(self, error: Optional[BaseException]) -> None:
        """Called when the step was waited for as a whole: its handles are forgotten."""
        self._are_there, self._error = error is None, error
