"""Agreement of the ranks that a step's exchange can end.

The end of a backward pass waits for the other ranks. One of them may be elsewhere: it had no batch, or
the program reduces its loss first. So each rank says when it has come to the end of the exchange, in
``backward()`` or in ``step()``, and nobody waits in ``backward()`` until all have; for longer than a
minute nobody waits there at all.
"""

import warnings
from typing import Any, Optional

import torch

from weir import _job
from weir._ops import handles, reduce_op
from weir.torch._ops.allreduce import allreduce_async_

_PATIENCE = 60.0  # Seconds: others may write a checkpoint meanwhile.
_FIRST_PAUSE = 16  # Steps; the next one lasts twice as long.


class Readiness:
    """One optimizer's. Not thread-safe."""

    def __init__(self) -> None:
        self._said = False    # In this step.
        self._handle: Optional[int] = None  # Until all ranks have.
        self._pause = 0       # Steps that end in step() alone.
        self._next_pause = _FIRST_PAUSE

    def say(self, optimizer: Any) -> None:
        """Says that this rank has come to the end of the exchange; once a step has an effect."""
        if not self._said:
            self._said = True
            self._handle = allreduce_async_(
                torch.ones(1, dtype=torch.int32), name=f"{optimizer._weir_name}/end of the step",
                op=reduce_op.Sum, process_set=optimizer._weir_process_set)

    def are_all_there(self, optimizer: Any) -> bool:
        """Waits, in ``backward()``, until all ranks have said so; returns False if they do not."""
        if self._pause > 0:
            self._pause -= 1
            return False
        self.say(optimizer)
        assert self._handle is not None
        if handles.wait_for(self._handle, _PATIENCE):
            self._handle = None
            return True
        self._pause, self._next_pause = self._next_pause, 2 * self._next_pause
        warnings.warn(
            f"rank {_job.rank()} has waited {_PATIENCE:g} s in backward() for other ranks, which have not come "
            f"to the end of {optimizer._weir_name}'s step: for {self._pause} steps gradients are shared in "
            "step() instead, and what the program reads before is this rank's")
        return False

    def end_step(self) -> None:
        """Called when all ranks have been there."""
        self._said, handle, self._handle = False, self._handle, None
        if handle is not None:
            handles.synchronize(handle)
