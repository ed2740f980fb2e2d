"""Some parameters of a model, and the rounds in which ranks agree on them."""

import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from weir._process_sets import ProcessSet
from weir.errors import HorovodInternalError
from weir.torch._ops.broadcast_parameters import broadcast_parameters
from weir.torch._ops.structures import broadcast_structure
from weir.torch._optimizer.broadcast_optimizer_state import broadcast_optimizer_state
from weir.torch._outer.outer_steps import outer_steps

Named = Tuple[str, torch.nn.Parameter]


def split(named: Sequence[Named], count: int) -> List[List[Named]]:
    """Divides parameters, in their order, into at most `count` parts of about as many elements."""
    total = sum(parameter.numel() for _, parameter in named)
    parts: Dict[int, List[Named]] = {}
    before = 0
    for name, parameter in named:
        middle = before + parameter.numel() / 2
        parts.setdefault(min(int(count * middle / max(total, 1)), count - 1), []).append((name, parameter))
        before += parameter.numel()
    return list(parts.values())


class Fragment:
    """Parameters that are agreed on together. What all ranks agreed on last is the **anchor**. A round
    exchanges how far each rank has gone from it, as if that were a gradient, and an outer SGD moves it.

    Anchors of half-precision parameters are float32. Not thread-safe.
    """

    def __init__(self, named: Sequence[Named], outer_lr: float, outer_momentum: float, compression: Any,
                 process_set: ProcessSet) -> None:
        self._names = [name for name, _ in named]
        self._parameters = [parameter for _, parameter in named]
        self._anchors = [torch.nn.Parameter(_wide(parameter.detach()).clone()) for parameter in self._parameters]
        sgd = torch.optim.SGD(self._anchors, lr=outer_lr, momentum=outer_momentum, nesterov=outer_momentum > 0)
        self.optimizer = outer_steps(sgd, list(zip(self._names, self._anchors)), compression, process_set)
        self.optimizer._weir_agree = weakref.WeakMethod(self.agree)
        self._process_set = process_set
        self.begun_at = 0  # Steps before the last round.
        # Parameters as they were when the round began; None: no round is under way.
        self._snapshots: Optional[List[torch.Tensor]] = None
        self._is_agreed = False  # The anchor has moved, and parameters have not followed yet.

    @property
    def is_under_way(self) -> bool:
        return self._snapshots is not None

    @torch.no_grad()
    def start(self) -> None:
        """Makes the first rank's parameters those of all ranks, and the anchor. Collective."""
        broadcast_parameters(list(zip(self._names, self._parameters)), self._process_set.ranks[0], self._process_set)
        for anchor, parameter in zip(self._anchors, self._parameters):
            anchor.copy_(parameter)

    @torch.no_grad()
    def begin(self, steps: int) -> None:
        """Begins a round after so many steps: sends off how far this rank has gone, and does not wait.
        Collective."""
        self.begun_at = steps
        self._snapshots = [parameter.detach().clone() for parameter in self._parameters]
        for anchor, snapshot in zip(self._anchors, self._snapshots):
            # What the cast to half precision lost is not this rank's doing.
            anchor.grad = anchor.to(snapshot.dtype).to(anchor.dtype) - snapshot
        self.optimizer.begin_step()

    @torch.no_grad()
    def agree(self) -> None:
        """Waits for the round, and moves the anchor. Parameters stay as they are."""
        if self.is_under_way and not self._is_agreed:
            self.optimizer.step()
            self._is_agreed = True

    @torch.no_grad()
    def finish(self) -> None:
        """Ends the round, if one is under way: parameters become the anchor, and beyond it what this rank
        has done meanwhile."""
        self.agree()
        for anchor, parameter, snapshot in zip(self._anchors, self._parameters, self._snapshots or ()):
            agreed = anchor.to(parameter.dtype)
            if torch.equal(parameter, snapshot):
                parameter.copy_(agreed)  # The same bits on all ranks.
            else:
                parameter.add_(agreed - snapshot)
        self._snapshots, self._is_agreed = None, False

    def give_up(self) -> None:
        """Ends the exchange of a round, so that the job can be left in good order. What it was about counts
        in the next one."""
        try:
            self.agree()
        except HorovodInternalError:  # Another rank has left already.
            self._snapshots, self._is_agreed = None, False

    # --- state ---

    def state_dict(self) -> Dict[str, Any]:
        """Waits for a round that is under way."""
        return {**self._own_state(), "optimizer": self.optimizer.state_dict()}

    def check(self, state: Dict[str, Any]) -> None:
        """Raises ValueError for the state of other parameters."""
        found, own = [list(anchor.shape) for anchor in state["anchors"]], [list(one.shape) for one in self._anchors]
        if found != own:
            raise ValueError(f"the saved optimizer has parameters of the shapes {found} where this one has {own}")

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Waits for a round that is under way."""
        self.agree()
        self.optimizer.load_state_dict(state["optimizer"])
        self._take(state)

    def broadcast(self, root_rank: int) -> None:
        """Copies the root's anchors, momentum, and round that is under way, to all ranks. Collective."""
        self.agree()
        broadcast_optimizer_state(self.optimizer, root_rank, process_set=self._process_set)
        self._take(broadcast_structure(self._own_state(), root_rank, self._names[0], self._process_set))

    def _own_state(self) -> Dict[str, Any]:
        self.agree()
        return {"begun_at": self.begun_at, "anchors": [anchor.detach() for anchor in self._anchors],
                "snapshots": self._snapshots}

    @torch.no_grad()
    def _take(self, state: Dict[str, Any]) -> None:
        self.begun_at = state["begun_at"]
        for anchor, saved in zip(self._anchors, state["anchors"]):
            anchor.copy_(saved)
        snapshots = state["snapshots"]
        self._is_agreed = snapshots is not None
        self._snapshots = None if snapshots is None else [
            torch.empty_like(parameter).copy_(saved) for saved, parameter in zip(snapshots, self._parameters)]


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
