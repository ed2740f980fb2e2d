"""Combination of gradients, and division by N, the number of ranks.

The engine divides. With Average, values are multiplied by ``prescale``, summed, and multiplied by
``postscale`` / N. ``gradient_predivide_factor`` moves a part of the division before the sum.
"""

from typing import NamedTuple

from weir._ops import reduce_op


class Reduction(NamedTuple):
    """A way to combine gradients."""

    op: int
    prescale: float
    postscale: float
    process_set: int = 0


def reduction_of(op: int, predivide: float) -> Reduction:
    """Returns the reduction that a program asks for."""
    factor = predivide if op == reduce_op.Average else 1.0
    return Reduction(op, 1.0 / factor, factor)


def without_factors(reduction: Reduction) -> Reduction:
    """Returns the reduction for payloads that are decoded before they are averaged: factors have no
    effect on those."""
    return reduction._replace(prescale=1.0, postscale=1.0)
