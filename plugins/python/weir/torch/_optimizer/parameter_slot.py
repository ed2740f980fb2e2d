"""A parameter of a DistributedOptimizer, on its way through a step."""

from typing import Any, Optional

import torch


class Slot:
    """A parameter: where its gradient goes, and how many backward passes are still to come."""

    def __init__(self, name: str, parameter: torch.Tensor, group: int, adoption: int) -> None:
        self.name, self.parameter, self.group = name, parameter, group
        self.adoption = adoption  # Parameters that came together are exchanged together.
        self.plan: Any = None     # Its momentum.Plan.

    def renew(self, passes: int) -> None:
        """For a new job."""
        self.exchange: Any = None
        self.index = 0
        # How many of the gradient's dimensions are sparse, once the ranks agreed on it.
        self.sparse_dim: Optional[int] = None
        self.begin_step(passes)

    def begin_step(self, passes: int) -> None:
        self.passes_left = passes
        self.complete = False   # All backward passes of the step were done,
        self.submitted = False  # and the exchange has it.


def checked_passes(passes: int) -> int:
    """Raises ValueError for a number of backward passes that cannot be."""
    if not isinstance(passes, int) or passes < 1:
        raise ValueError(f"backward_passes_per_step={passes!r}: a whole number of at least 1 is meant")
    return passes
