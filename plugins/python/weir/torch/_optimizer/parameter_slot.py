"""A parameter of a DistributedOptimizer, and its state in a step."""

from typing import Any, Optional

import torch

REGULAR = 8
"""So many steps alike, and the next one will be too."""


class PassCount:
    """Counts backward passes, step by step."""

    __slots__ = ("fired", "most", "most_ago", "last", "irregular")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.fired = 0      # Passes of this step so far.
        self.most = 0       # Most passes of recent steps,
        self.most_ago = 0   # so many steps ago.
        self.last = 0       # Passes of the last step that had any.
        self.irregular = False  # The last two steps that had any had different numbers of them.

    def end_step(self) -> None:
        """Called between steps. A step may again have as many passes as one of the last steps."""
        fired = self.fired
        self.most_ago += 1
        if fired >= self.most or self.most_ago > REGULAR:
            self.most, self.most_ago = fired, 0
        self.irregular = bool(fired) and self.last not in (0, fired)
        self.last = fired or self.last
        self.fired = 0


class Slot(PassCount):
    """A parameter: the exchange of its gradient, and the number of backward passes still to come. A pass
    counts as often as it adds to the gradient (reentrant checkpointing)."""

    # A step reads thousands of them.
    __slots__ = ("name", "parameter", "group", "adoption", "plan", "mesh_of_rows", "exchange", "index",
                 "sparse_dim", "given_sparse_dim", "stepped", "due", "complete", "sent", "view", "apart",
                 "other", "seen", "version")

    def __init__(self, name: str, parameter: torch.Tensor, group: int, adoption: int) -> None:
        super().__init__()
        self.name, self.parameter, self.group = name, parameter, group
        self.adoption = adoption  # Parameters adopted together are exchanged together.
        self.plan: Any = None     # Its momentum.Plan.
        self.mesh_of_rows: Any = None  # Of its shards and their replicas, if it has any (state_rows).

    def renew(self, passes: int) -> None:
        """Resets the slot for a new job."""
        self.exchange: Any = None
        self.index = 0
        # Number of the gradient's sparse dimensions, once the ranks have agreed on it.
        self.sparse_dim: Optional[int] = None
        self.given_sparse_dim = 1  # Of a gradient that was made dense.
        self.reset()
        self.stepped = False    # A step was taken with a gradient of it.
        self.begin_step(passes)

    def begin_step(self, passes: int) -> None:
        """`passes`: declared number of backward passes of a step."""
        self.end_step()
        self.due = max(passes, self.most)
        self.complete = False   # All of them were done,
        self.sent: Optional[torch.Tensor] = None  # and the exchange has this gradient.
        self.view: Optional[torch.Tensor] = None  # Where it is exchanged, if not in .grad (by_buckets).
        self.apart = False      # The result is not in the gradient's place.
        self.other: Optional[torch.Tensor] = None  # The result, or what it has replaced (backward_passes).
        self.seen: Optional[torch.Tensor] = None  # The gradient that was noted last,
        self.version = 0        # and what PyTorch said of its content: it grows with every change.

    @property
    def local(self) -> torch.Tensor:
        """What this rank has of the parameter: all of it."""
        return self.parameter

    @property
    def gradient(self) -> Optional[torch.Tensor]:
        """What is exchanged, and replaced by the result."""
        return self.parameter.grad if self.view is None else self.view

    def note_content(self) -> None:
        """Notes the gradient as it is. ``has_changed`` tells if the program changes it then."""
        gradient = self.parameter.grad  # Read once: a step has thousands of these.
        self.seen = gradient
        if gradient is not None:
            self.version = gradient._version

    def keep_gradient(self) -> None:
        """Keeps a copy of what this rank has computed."""
        gradient = self.parameter.grad
        self.other = None if gradient is None else gradient.clone()

    @property
    def is_untouched(self) -> bool:
        """True if the gradient of this step is what was noted, and what is exchanged if anything is."""
        gradient, seen = self.parameter.grad, self.seen
        if gradient is not seen or (self.sent is not None and self.sent is not gradient):
            return False
        return not self.fired or gradient is None or gradient._version == self.version

    def check_content(self) -> None:
        """Raises ValueError if the program has changed the gradient of this step before, or while, it
        is exchanged."""
        if not self.fired or self.parameter.grad is None or not self.has_changed:
            return
        raise ValueError(
            f"the gradient of '{self.name}' was changed between its backward pass and step(), when "
            "it was perhaps not yet the one that all ranks share: call optimizer.synchronize() "
            "first, and step() within optimizer.skip_synchronize()")

    @property
    def has_changed(self) -> bool:
        """True if the program has changed the gradient, or let go of it, since ``note_content``."""
        gradient = self.parameter.grad
        return gradient is not self.seen or (gradient is not None
                                             and gradient._version != self.version)

    @property
    def was_let_go(self) -> bool:
        """True if the program has let go of the gradient since ``note_content``, or changed it, where it
        has moved to other memory meanwhile."""
        return self.seen is not None and (self.parameter.grad is None or self.seen._version != self.version)

    @property
    def is_cleared(self) -> bool:
        """True if the gradient is None or zero."""
        gradient = self.parameter.grad
        return gradient is None or not bool((gradient._values() if gradient.is_sparse else gradient).any())

    @property
    def submitted(self) -> bool:
        return self.sent is not None

    @property
    def forgotten(self) -> bool:
        """True if the program has let go of a gradient that the exchange has."""
        return self.sent is not None and self.gradient is not self.sent


def checked_passes(passes: int) -> int:
    """Raises ValueError for an impossible number of backward passes."""
    if not isinstance(passes, int) or passes < 1:
        raise ValueError(f"backward_passes_per_step={passes!r}: give a whole number of at least 1")
    return passes
