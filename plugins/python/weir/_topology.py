"""Places of a job's ranks: the hosts that they share, and how the hosts line up."""

import array
from typing import TYPE_CHECKING, NamedTuple, Optional, Sequence, Tuple

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
    # In the last epoch of an elastic job, of each rank of this one; None: it is new.
    former_ranks: Tuple[Optional[int], ...] = ()


def of(rank: int, local_ranks: Sequence[int], local_sizes: Sequence[int],
       former_ranks: Sequence[Optional[int]] = ()) -> Topology:
    """Returns this rank's, from every rank's number on its host and number of ranks there."""
    across = [other for other, local in enumerate(local_ranks) if local == local_ranks[rank]]
    return Topology(rank, len(local_ranks), local_ranks[rank], local_sizes[rank],
                    across.index(rank), len(across), len(set(local_sizes)) == 1, tuple(former_ranks))


def gather(engine: "_core.Job", former_rank: Optional[int] = None) -> Topology:
    """Returns the same, asking all ranks. Collective; one all-reduce of 24 bytes per rank."""
    rank, size = engine.rank, engine.size
    mine = (engine.local_rank, engine.local_size, 0 if former_rank is None else former_rank + 1)
    # Every rank fills in its own numbers; the sum gives all of them to every rank.
    table = array.array("q", [0]) * (3 * size)
    table[rank::size] = array.array("q", mine)
    summed(engine, "weir.topology", table)
    former = [number - 1 if number else None for number in table[2 * size:]]
    return of(rank, table[:size], table[size:2 * size], former)


def summed(engine: "_core.Job", name: str, numbers: "array.array[int]") -> None:
    """Replaces the numbers, 64 bits each, by their sums over all ranks. Collective."""
    from weir import _core

    if engine.size > 1 and numbers:
        address, count = numbers.buffer_info()
        number_of_sum = 1
        engine.wait(engine.allreduce(name, address, address, _core.DTYPES["int64"], [count],
                                     number_of_sum, 1.0, 1.0))
