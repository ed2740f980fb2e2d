"""Ranks that are given as a communicator of mpi4py.

mpi4py is imported only where a program has made a communicator with it.
"""

from typing import Any, List

from weir.errors import InvalidArgument


def is_communicator(value: Any) -> bool:
    """Whether it is one of mpi4py's."""
    return hasattr(value, "Get_group")


def ranks_of(comm: Any) -> List[int]:
    """The members' ranks in the job, in the communicator's order. Raises ValueError for none."""
    from mpi4py import MPI

    if comm == MPI.COMM_NULL:
        raise InvalidArgument("MPI.COMM_NULL has no ranks: give every rank a communicator that it "
                              "is in, or the ranks of the job as a list of numbers")
    group = comm.Get_group()
    # Called on the class, which all versions of mpi4py understand.
    return list(MPI.Group.Translate_ranks(group, list(range(group.Get_size())),
                                          MPI.COMM_WORLD.Get_group()))


def of_all_ranks(ranks: List[int]) -> List[List[int]]:
    """What the ranks of the job give, in their order, each list once. Collective."""
    from mpi4py import MPI

    every = MPI.COMM_WORLD.allgather(ranks)
    return [each for i, each in enumerate(every) if each not in every[:i]]
