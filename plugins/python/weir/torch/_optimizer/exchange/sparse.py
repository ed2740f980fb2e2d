"""The exchange of gradients that are sparse."""

import functools
from typing import Any, Callable, List, NamedTuple

import torch

from weir._process_sets import ProcessSet
from weir._ops import handles
from weir.torch._ops import sparse_allreduce


class _Member(NamedTuple):
    name: str
    parameter: torch.Tensor
    sparse_dim: int


class SparseExchange:
    """Gradients whose rows are gathered from all ranks. A result replaces the gradient.

    Not thread-safe.
    """

    can_drop = True

    def __init__(self, name: str, reduction: Any, process_set: ProcessSet) -> None:
        self._name, self._reduction, self._process_set = name, reduction, process_set
        self._members: List[_Member] = []
        self._waits: List[Any] = []

    def __bool__(self) -> bool:
        """True if there is anything to exchange."""
        return bool(self._members)

    def add(self, name: str, parameter: torch.Tensor, sparse_dim: int) -> int:
        """Returns the parameter's index for ``submit``."""
        self._members.append(_Member(name, parameter, sparse_dim))
        return len(self._members) - 1

    def submit(self, index: int, gradient: torch.Tensor) -> None:
        member = self._members[index]
        if gradient.is_sparse and gradient.sparse_dim() != member.sparse_dim:
            gradient = gradient.to_dense()  # PyTorch 1 makes it so when it is set to zero.
        if not gradient.is_sparse:  # Unused here, or also used in a dense way.
            gradient = gradient.to_sparse(member.sparse_dim)
        wait = sparse_allreduce.start(gradient, f"{self._name}/{member.name}", self._reduction.op,
                                      self._process_set, self._reduction.prescale,
                                      self._reduction.postscale)
        self._waits.append((member.parameter, wait))

    def finish(self) -> None:
        """Waits for all of them, whether or not some fail; then raises the first error."""
        waits, self._waits = self._waits, []
        handles.all_of(functools.partial(self._take, *each) for each in waits)

    def drop(self) -> None:
        """Waits for all of them, and forgets them."""
        waits, self._waits = self._waits, []
        handles.all_of(wait for _, wait in waits)

    def _take(self, parameter: torch.Tensor, wait: Callable[[], torch.Tensor]) -> None:
        parameter.grad = wait()

    def close(self) -> None:
        self._waits.clear()


def make_sparse_again(optimizer: Any) -> None:
    """Turns gradients that were exchanged as dense ones back for an optimizer that has no use for these."""
    slots = optimizer._weir_slots.values()
    for slot in slots if isinstance(optimizer, torch.optim.SparseAdam) else ():
        gradient = slot.parameter.grad
        if gradient is not None and not gradient.is_sparse:
            slot.parameter.grad = gradient.to_sparse(slot.given_sparse_dim)
