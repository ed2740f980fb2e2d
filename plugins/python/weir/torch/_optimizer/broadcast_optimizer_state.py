"""Bringing an optimizer to the same state on all ranks."""

from typing import Any

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set
from weir.torch._ops.structures import broadcast_structure
from weir.torch._optimizer import load_in_place


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int,
                              model: Any = None,
                              process_set: ProcessSet = global_process_set) -> None:
    """Copies the root's optimizer state and hyper-parameters to all other ranks.

    State that a rank does not have yet is made. ``model`` is accepted and not needed. The unsent part
    of a compressing ``DistributedOptimizer`` belongs to each rank and stays.

    Raises ValueError for LBFGS, whose state is not of this form.
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    mine = torch.optim.Optimizer.state_dict(optimizer)
    # Loaded but not yet restored state is one rank's; the unsent part is each rank's own.
    mine["weir"] = getattr(optimizer, "_weir_pending", None)
    state = broadcast_structure(mine, root_rank, "optimizer", process_set)
    if _job.rank() != root_rank:
        pending = state.pop("weir")
        with load_in_place.kept(optimizer):
            torch.optim.Optimizer.load_state_dict(optimizer, state)
        if pending is not None:
            optimizer._weir_pending = pending  # type: ignore[attr-defined]
    broadcast_more = getattr(optimizer, "_weir_broadcast", None)
    if broadcast_more is not None:
        broadcast_more(root_rank)
