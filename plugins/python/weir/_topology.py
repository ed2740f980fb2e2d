"""Places of a job's ranks: the hosts that they share, and how the hosts line up."""

import array
from typing import TYPE_CHECKING, NamedTuple, Sequence

if TYPE_CHECKING:
    from weir import _core


class Topology(NamedTuple):
    """A rank's place in the job and on its host. As in Horovod, the ranks "across" are those with the
    same number on their hosts: one for each host that has so many ranks."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    cross_rank: int       # Number of this rank among those across.
    cross_size: int       # Number of those ranks.
    is_homogeneous: bool  # Every host has the same number of ranks.


def of(rank: int, local_ranks: Sequence[int], local_sizes: Sequence[int]) -> Topology:
    """Returns this rank's, from every rank's number on its host and number of ranks there."""
    across = [other for other, local in enumerate(local_ranks) if local == local_ranks[rank]]
    return Topology(rank, len(local_ranks), local_ranks[rank], local_sizes[rank],
                    across.index(rank), len(across), len(set(local_sizes)) == 1)


def gather(engine: "_core.Job") -> Topology:
    """Returns the same, asking all ranks. Collective; one all-reduce of 16 bytes per rank."""
    from weir import _core

    rank, size = engine.rank, engine.size
    # Every rank fills in its own two numbers; the sum gives all of them to every rank.
    table = array.array("q", [0]) * (2 * size)
    table[rank], table[size + rank] = engine.local_rank, engine.local_size
    if size > 1:
        address, count = table.buffer_info()
        number_of_sum = 1
        engine.wait(engine.allreduce("weir.topology", address, address, _core.DTYPES["int64"],
                                     [count], number_of_sum, 1.0, 1.0))
    return of(rank, table[:size], table[size:])
