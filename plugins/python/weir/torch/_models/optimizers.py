"""Optimizers that become exchanging ones, and stay the objects that they are: schedulers and trainers
hold them already."""

import weakref
from typing import Any, List, Tuple

import torch

from weir.errors import InvalidArgument
from weir._process_sets import ProcessSet
from weir.torch._compression.options import Choice
from weir._ops import reduce_op
from weir.torch._optimizer.step import Distributed

# What a scheduler marks the optimizer's step with, today and before PyTorch 2.5.
_SCHEDULED = frozenset({"_wrapped_by_lr_sched", "_with_counter"})


def within(optimizer: Any) -> Any:
    """Returns the optimizer within the wrappers of trainers."""
    found = optimizer
    for name in ("optimizer", "_optimizer") * 2:
        inner = getattr(found, name, None)
        if isinstance(inner, torch.optim.Optimizer):
            found = inner
    return found


def innermost(optimizer: Any) -> Any:
    """Does the same for one that exchanges no gradients yet. Raises TypeError or ValueError for anything
    else."""
    found = within(optimizer)
    if not isinstance(found, torch.optim.Optimizer):
        raise TypeError(f"compress() takes a torch.optim.Optimizer, not a {type(found).__name__}")
    if isinstance(found, Distributed):
        raise InvalidArgument("this optimizer exchanges gradients already: give it to compress(), or wrap it "
                              "in a DistributedOptimizer, once")
    return found


def remembers(optimizer: Any) -> bool:
    """True if its compressor has something to save."""
    return isinstance(optimizer, Distributed)


def unsent(optimizer: Any) -> Any:
    """Returns what this rank has not sent yet, for a file of its own."""
    return optimizer._weir_unsent()


def load_with(optimizer: Any, own: Any) -> None:
    """Makes the next ``load_state_dict`` take this rank's part from here."""
    optimizer._weir_own_part = own


def become(optimizer: Any, kind: Any, named: List[Tuple[str, torch.Tensor]], choice: Choice,
           process_set: ProcessSet, **attributes: Any) -> None:
    """Makes the optimizer an instance of a class that has ``kind`` before its own, with these attributes.
    Collective."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise InvalidArgument("LBFGS computes losses and gradients several times in a step, and compares them; "
                              "compressed they would be of different steps. Leave the compression out")
    former, before = type(optimizer), dict(optimizer.__dict__)
    optimizer.__class__ = type(former.__name__, (kind, former), {})
    scheduled = optimizer.__dict__.pop("step", None)
    optimizer.__dict__.update(attributes)
    try:
        optimizer._weir_init(named, *choice, 1, reduce_op.Average, 1.0, False, process_set)
    except Exception:
        optimizer.__class__ = former
        optimizer.__dict__.clear()
        optimizer.__dict__.update(before)
        raise
    if scheduled is not None and not _SCHEDULED.isdisjoint(dir(scheduled)):
        optimizer.step = _noting(optimizer)


def _noting(optimizer: Any) -> Any:
    """Returns a ``step`` that tells a scheduler, as the one that it had put there did."""
    owner = weakref.ref(optimizer)

    def step(*arguments: Any, **keywords: Any) -> Any:
        found: Any = owner()
        found._opt_called = True
        found._step_count = getattr(found, "_step_count", 0) + 1  # PyTorch before 2.5 counts.
        return type(found).step(found, *arguments, **keywords)

    for mark in _SCHEDULED:
        setattr(step, mark, True)
    return step
