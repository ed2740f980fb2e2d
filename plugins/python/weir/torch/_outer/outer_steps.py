"""The steps of an outer optimizer, which are begun and ended apart."""

from typing import Any, List, Tuple

import torch

from weir._process_sets import ProcessSet
from weir.torch._compression.options import choice_of
from weir._ops import reduce_op
from weir.torch._optimizer import replicas
from weir.torch._optimizer.step import Distributed
from weir.torch._optimizer.wrapping import exchanging


class OuterSteps(Distributed):
    """A DistributedOptimizer whose gradients come from no backward pass."""

    _weir_is_the_program_s = False
    _weir_is_under_way = False  # All gradients were sent off; step() waits for them.
    _weir_agree: Any = None  # Weak; ends the fragment's round, between begin_step() and step().

    def begin_step(self) -> None:
        """Sends off gradients, and does not wait. Collective; ``step`` follows."""
        if self._weir_is_member:
            replicas.verify(self, steps_under_way=0)
            super()._weir_submit_all(early=False)
            self._weir_is_under_way = True

    def _weir_submit_all(self, early: bool) -> None:
        if not self._weir_is_under_way:
            super()._weir_submit_all(early)
        self._weir_is_under_way = False

    def _weir_verify(self) -> None:
        """Does nothing: one rank alone may end a round that was begun together."""

    def _weir_say_ready(self) -> None:
        """Does nothing: no rank waits in ``backward()``."""

    def _weir_apply_late(self) -> None:
        agree = self._weir_agree and self._weir_agree()
        if agree is not None:
            agree()

    def _weir_leave(self) -> None:
        self._weir_is_under_way = False
        super()._weir_leave()


def outer_steps(optimizer: torch.optim.Optimizer, named: List[Tuple[str, torch.Tensor]], compression: Any,
                process_set: ProcessSet) -> Any:
    """Returns the optimizer with OuterSteps before its class. Collective; raises ValueError for a compression
    that is not known, or has no meaning here."""
    choice = choice_of(compression)
    if any(key.startswith("look_ahead") for key in choice.options):
        raise ValueError("look_ahead with Outer, whose ways are no gradients: leave it out")
    return exchanging(OuterSteps, optimizer, named, choice, 1, reduce_op.Average, 1.0, False, process_set)
