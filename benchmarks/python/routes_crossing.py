"""The density at which two routes carry the same number of bytes."""

import math

from routes_table import ROUTES, Terms


def overlap_of(density, filled, ranks):
    """Number of ranks that would fill as much of the union by independent choices: `ranks` if they do
    so, 1 if all choose the same entries."""
    if not 0 < filled < 1:
        return ranks
    return math.log1p(-filled) / math.log1p(-density)


def union_of(density, independent):
    """The part of all entries that so many ranks fill."""
    return -math.expm1(independent * math.log1p(-density)) if density < 1 else 1.0


def between(points, x):
    """Piecewise linear, constant outside; points are (x, y) in order."""
    for (left, low), (right, high) in zip(points, points[1:]):
        if x <= right:
            return low + (high - low) * (max(x, left) - left) / (right - left)
    return points[-1][1]


def zero_of(points):
    """The first x where a piecewise linear function that is not 0 at its begin reaches 0, or None."""
    for (left, low), (right, high) in zip(points, points[1:]):
        if low * high <= 0 and low != 0:
            return left + (right - left) * low / (low - high)
    return None


def measured(bytes_by_density, others_by_density):
    """From {density: bytes an element} of both; between two densities, as powers of it."""
    shared = sorted(set(bytes_by_density) & set(others_by_density))
    found = zero_of([(math.log(density),
                      math.log(bytes_by_density[density] / others_by_density[density]))
                     for density in shared])
    return None if found is None else math.exp(found)


def by_formula(route, other, hosts, ranks_on_host, lowest, overlap):
    """From `lowest` to 1; `overlap(density)` as overlap_of."""
    def log_ratio(density):
        terms = Terms(hosts, ranks_on_host, 1, density, union_of(density, overlap(density)))
        return math.log(ROUTES[route].formula(terms) / ROUTES[other].formula(terms))
    steps = 4000
    grid = [math.log(lowest) * (1 - i / steps) for i in range(steps + 1)]
    found = zero_of([(x, log_ratio(min(1.0, math.exp(x)))) for x in grid])
    return None if found is None else math.exp(found)
