"""The routes that the benchmark compares: options, the exact count, the closed formula."""

import math
from typing import Any, Callable, Dict, NamedTuple

import route_bytes


class Terms(NamedTuple):
    """Variables of the formulas. `union`: entries that any rank has chosen, U."""

    hosts: int
    ranks_on_host: int
    elements: int
    density: float
    union: float

    @property
    def ranks(self):
        return self.hosts * self.ranks_on_host

    @property
    def elsewhere(self):
        """Pairs of a rank of one host and a rank of another: N - 1 where a host has one rank."""
        return self.ranks_on_host * (self.ranks - self.ranks_on_host)


def pair_bytes(density, width):
    """b: one entry's index, in Elias-Fano code or its part of a bitmap, and its value."""
    if density == 0:
        return 0.0
    low = math.floor(math.log2(1 / density))
    return width + min(low + 1 + 1 / density / 2**low, 1 / density) / 8


def _ring(terms):
    return terms.elsewhere * 2 / terms.ranks * 4 * terms.elements


def _gather(terms):
    return terms.elsewhere * terms.density * terms.elements * pair_bytes(terms.density, 2)


def _split(terms):
    # Entries are sent as an array if that is shorter; the sums are fp32.
    filled = terms.union / terms.elements
    sums = min(terms.union * pair_bytes(filled, 4), 4 * terms.elements)
    chosen = terms.elements * min(terms.density * pair_bytes(terms.density, 2), 2)
    return terms.elsewhere / terms.ranks * (chosen + sums)


def _servers(terms):
    # A server at each rank: (N-1)/N K pushed, and as much pulled, because the mean is compressed again.
    return 2 / terms.ranks * _gather(terms)


def _hosts(terms):
    return _gather(terms._replace(ranks_on_host=1))


class Route(NamedTuple):
    """`count(case, rank)`: bytes from a rank to each. `formula(terms)`: bytes that leave a host on
    average. `least_on_host`: ranks without which it is another route."""

    options: Dict[str, Any]
    formula: Callable[[Terms], float]
    count: Callable[[route_bytes.Case, int], list]
    least_on_host: int = 1
    compresses: bool = True


def _dgc(route):
    # The form of the paper, whose choices dgc_selection.py makes.
    return {"compressor": "dgc", "momentum_masking": "true", "route": route, "policy": "always"}


ROUTES = {
    "dense": Route({"compressor": "dense"}, _ring, route_bytes.dense, compresses=False),
    "allgather": Route(_dgc("allgather"), _gather, route_bytes.all_gather),
    "split": Route(_dgc("split"), _split, route_bytes.split),
    "hierarchical": Route(_dgc("hierarchical"), _hosts, route_bytes.hierarchical, least_on_host=2),
    "push_pull": Route(_dgc("push_pull"), _servers, route_bytes.push_pull),
}
