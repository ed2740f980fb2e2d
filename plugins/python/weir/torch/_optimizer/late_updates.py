"""Updates of parameters that ``step()`` has left for later (cross_barrier)."""

from typing import Any, Dict, Iterable, List, NamedTuple, Optional

import torch

from weir.torch._optimizer.exchange.late_results import LateResults
from weir.torch._optimizer.parameter_slot import Slot


class LateUpdate(NamedTuple):
    """The update of one parameter."""

    slot: Slot
    results: Optional[LateResults]  # None: it has its result.
    gradient: torch.Tensor  # Holds the result once that was waited for.


class LateUpdates:
    """Those of one step."""

    def __init__(self) -> None:
        self._waiting: Dict[torch.Tensor, LateUpdate] = {}
        self.groups: List[Dict[str, Any]] = []
        """The optimizer's parameter groups as they were in that step, without parameters: a scheduler changes
        them before the updates are applied."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __contains__(self, parameter: torch.Tensor) -> bool:
        return parameter in self._waiting

    def begin(self, groups: Iterable[Dict[str, Any]]) -> None:
        """Begins a step; no update of another one is left."""
        assert not self._waiting
        self.groups = [{key: value.clone() if torch.is_tensor(value) else value
                        for key, value in group.items() if key != "params"} for group in groups]

    def add(self, update: LateUpdate) -> None:
        self._waiting[update.slot.parameter] = update

    def take(self, parameters: Iterable[Any]) -> List[LateUpdate]:
        """Takes out the updates of these parameters, as far as there are any."""
        return [self._waiting.pop(parameter) for parameter in parameters if parameter in self._waiting]

    def take_all(self) -> List[LateUpdate]:
        found = list(self._waiting.values())
        self._waiting.clear()
        return found
