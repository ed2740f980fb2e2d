"""Constants for the ways to combine values, with Horovod's numbers."""

import numbers
import warnings
from typing import Any

Average = 0
Sum = 1
Adasum = 2
Min = 3
Max = 4
Product = 5

_NAMES = {Average: "Average", Sum: "Sum", Adasum: "Adasum", Min: "Min", Max: "Max",
          Product: "Product"}


def chosen(op, average=None) -> int:
    """Returns the operation that ``op`` and the deprecated ``average`` ask for; Average without either.

    Raises ValueError when both are given, or for an unknown op.
    """
    if op is not None and average is not None:
        raise ValueError("The op parameter supersedes average. Please provide only one of them.")
    if average is not None:
        warnings.warn("Parameter `average` has been replaced with `op` and will be removed",
                      DeprecationWarning, stacklevel=4)
        return Average if average else Sum
    if op is None:
        return Average
    if op not in _NAMES:
        raise ValueError(
            f"op={op!r} is not a reduction; give Average, Sum, Adasum, Min, Max or Product")
    return op


def of_reducescatter(op: int) -> int:
    """Returns the operation. Raises ValueError for one that a reduce-scatter does not have."""
    if op not in (Average, Sum):
        raise ValueError(f"reducescatter is for Average and Sum, not for {name_of(chosen(op))}")
    return op


def factor(value: Any) -> float:
    """Returns a scale factor. Raises TypeError for anything but a number."""
    if not isinstance(value, numbers.Real):
        raise TypeError(f"prescale_factor and postscale_factor are numbers, not {value!r:.60}")
    return float(value)


def name_of(op: int) -> str:
    """ "Average", "Sum", ..."""
    return _NAMES[op]
