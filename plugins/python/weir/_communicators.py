"""Ranks given as a communicator of mpi4py, or as a process group of torch.distributed. Neither is imported
unless a program has made one with it."""

import array
import itertools
import sys
from typing import TYPE_CHECKING, Any, List

from weir.errors import InvalidArgument

if TYPE_CHECKING:
    from weir import _core


def is_communicator(value: Any) -> bool:
    """True if it is one of mpi4py's."""
    return hasattr(value, "Get_group")


def ranks_of(comm: Any) -> List[int]:
    """Returns the members' ranks in the job, in the communicator's order. Raises ValueError for none."""
    from mpi4py import MPI

    if comm == MPI.COMM_NULL:
        raise InvalidArgument("MPI.COMM_NULL has no ranks: give every rank a communicator that it "
                              "is in, or the members' ranks as a list of numbers")
    group = comm.Get_group()
    # Called on the class, which all versions of mpi4py support.
    return list(MPI.Group.Translate_ranks(group, list(range(group.Get_size())),
                                          MPI.COMM_WORLD.Get_group()))


def is_process_group(value: Any) -> bool:
    """True if it is one of torch.distributed's."""
    torch = sys.modules.get("torch")
    return (torch is not None and torch.distributed.is_available()
            and isinstance(value, torch.distributed.ProcessGroup))


def ranks_of_group(group: Any) -> List[int]:
    """Returns the ranks of a process group in torch.distributed, in the group's order."""
    import torch.distributed as dist

    return [dist.get_global_rank(group, place) for place in range(group.size())]


def together(engine: "_core.Job", ranks: List[int], one_of_several: bool) -> List[List[int]]:
    """Returns the sets that the ranks of the job are about to add, this one's among them. If some ranks
    give one of several (communicators, which ``Split`` makes different, or process groups), returns all sets, in rank order;
    otherwise this rank's, which the engine compares. Collective, one small all-gather."""
    from weir import _core

    mine = array.array("q", [one_of_several, *ranks])
    address, count = mine.buffer_info()
    gathered = engine.allgather("weir.process_set", address, _core.DTYPES["int64"], [count])
    engine.wait(gathered.handle)
    every = gathered.numbers()
    ends = list(itertools.accumulate(gathered.rows))
    given = [every[end - count:end] for end, count in zip(ends, gathered.rows)]
    if not any(is_one_of_several for is_one_of_several, *_ in given):
        return [ranks]
    lists = [members for _, *members in given]
    return [members for i, members in enumerate(lists) if members not in lists[:i]]
