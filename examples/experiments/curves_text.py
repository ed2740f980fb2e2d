"""Curves of trainings as lines of text, for a terminal: a letter a curve."""

import math

MARKS, TOGETHER = "ox+#", "*"


def _value_at(curve, x):
    """The curve's value there, between its points on a straight line; None outside them."""
    for (x0, y0), (x1, y1) in zip(curve, curve[1:]):
        if x0 <= x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return None


def _marked(row, column, mark):
    row[column] = mark if row[column] in (" ", mark) else TOGETHER


def _number(value):
    return f"{value:.4g}"


def text(curves, x_label, y_label, width=64, height=14):
    """`curves`: {label: [(x, y)]} of rising x; a y of None or NaN is left out. At most four. Returns lines of at most width + 10
    characters, or none if no curve has two points."""
    finite = {label: [(x, y) for x, y in curve if y is not None and math.isfinite(y)]
              for label, curve in curves.items()}
    finite = {label: curve for label, curve in finite.items() if len(curve) > 1}
    if not finite:
        return []
    last = max(x for curve in finite.values() for x, _ in curve)
    first = min(x for curve in finite.values() for x, _ in curve)
    values = sorted(y for curve in finite.values() for _, y in curve)
    # The first points would flatten all the rest: the worst tenth is drawn at the top.
    low, high = values[0], values[int(0.9 * (len(values) - 1))]
    grid = [[" "] * width for _ in range(height)]
    for curve, mark in zip(finite.values(), MARKS):
        for column in range(width):
            y = _value_at(curve, first + (last - first) * column / (width - 1))
            if y is not None:
                from_top = max(0, high - y) / (high - low) if high > low else 0
                _marked(grid[round(from_top * (height - 1))], column, mark)
    axis = [_number(high), *[""] * (height - 2), _number(low)]
    names = ", ".join(f"{mark} {label}" for mark, label in zip(MARKS, finite))
    together = f", {TOGETHER} {'both' if len(finite) == 2 else 'several'}" if len(finite) > 1 else ""
    return [f"{y_label}: {names}{together}", *(f"{label:>8} |{''.join(row).rstrip()}" for label, row in zip(axis, grid)),
            f"{'':8} +{'-' * width}", f"{'':9} {_number(first):<{width - 8}}{_number(last):>8}  {x_label}"]
