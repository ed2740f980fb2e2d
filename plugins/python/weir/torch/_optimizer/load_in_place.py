"""Loads a state without replacing objects that others hold."""

import contextlib
from typing import Iterator

import torch


@contextlib.contextmanager
def kept(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Loads inside go into the existing parameter groups and state.

    ``torch.optim`` replaces both. But a wrapped optimizer shares them with the one that it was made of,
    and an earlier schedule of the learning rate sets the rate there.
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
