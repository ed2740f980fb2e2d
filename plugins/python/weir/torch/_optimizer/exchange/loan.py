"""Gradients lent to the engine until a step is over."""

from typing import Dict, List, Tuple

import torch


class Loan:
    """Gradients that the engine reads and writes until the step is over, by their numbers."""

    def __init__(self) -> None:
        self._lent: List[torch.Tensor] = []
        self._copies: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}  # Gradients with their results.
        self._kept: List[torch.Tensor] = []  # Copies that the engine reads.

    def lend(self, index: int, gradient: torch.Tensor) -> torch.Tensor:
        """Returns the gradient, or a contiguous copy in its place."""
        if gradient.is_contiguous():
            self._lent.append(gradient)
            return gradient
        copy = gradient.contiguous()
        self._copies[index] = gradient, copy
        return copy

    def lend_apart(self, index: int, gradient: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Returns the gradient, or a contiguous copy, and memory for its result: until all is given
        back the gradient stays what it is."""
        lent = gradient.contiguous()
        result = torch.empty_like(lent)
        if lent is not gradient:
            self._kept.append(lent)
        self._copies[index] = gradient, result
        return lent, result

    def give_back(self) -> None:
        """Called when every gradient has its result."""
        for gradient, copy in self._copies.values():
            gradient.copy_(copy)

    def give_back_one(self, index: int) -> None:
        """Called when a gradient has its result."""
        if index in self._copies:
            gradient, copy = self._copies.pop(index)
            gradient.copy_(copy)

    def scale(self, factor: float) -> None:
        """Multiplies all results; by infinity: sets them to it."""
        for gradient in (*self._lent, *(gradient for gradient, _ in self._copies.values())):
            if factor == float("inf"):
                gradient.fill_(factor)
            else:
                gradient.mul_(factor)

    def forget(self) -> None:
        self._lent.clear()
        self._copies.clear()
        self._kept.clear()
