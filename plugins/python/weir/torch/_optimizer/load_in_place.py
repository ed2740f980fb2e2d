"""Loading a state without replacing what others hold."""

import contextlib
from typing import Iterator

import torch


@contextlib.contextmanager
def kept(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """What is loaded inside goes into the parameter groups and the state that the optimizer had.

    ``torch.optim`` replaces both. But a wrapped optimizer shares them with the one that it was made
    of, and a schedule of the learning rate that was made before sets the rate there.
    """
    groups, state = optimizer.param_groups, optimizer.state
    yield
    loaded, optimizer.param_groups = optimizer.param_groups, groups
    for group, new in zip(groups, loaded):
        group.clear()
        group.update(new)
    found, optimizer.state = optimizer.state, state
    if found is not state:
        entries = dict(found)
        state.clear()
        state.update(entries)
