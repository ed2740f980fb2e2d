"""A parameter of a DistributedOptimizer, and its state in a step."""

from typing import Any, Optional

import torch


class Slot:
    """A parameter: the exchange of its gradient, and the number of backward passes still to come."""

    def __init__(self, name: str, parameter: torch.Tensor, group: int, adoption: int) -> None:
        self.name, self.parameter, self.group = name, parameter, group
        self.adoption = adoption  # Parameters adopted together are exchanged together.
        self.plan: Any = None     # Its momentum.Plan.

    def renew(self, passes: int) -> None:
        """Resets the slot for a new job."""
        self.exchange: Any = None
        self.index = 0
        # Number of the gradient's sparse dimensions, once the ranks have agreed on it.
        self.sparse_dim: Optional[int] = None
        self.begin_step(passes)

    def begin_step(self, passes: int) -> None:
        self.passes_left = passes
        self.complete = False   # All backward passes of the step were done,
        self.submitted = False  # and the exchange has it.


def checked_passes(passes: int) -> int:
    """Raises ValueError for an impossible number of backward passes."""
    if not isinstance(passes, int) or passes < 1:
        raise ValueError(f"backward_passes_per_step={passes!r}: give a whole number of at least 1")
    return passes
