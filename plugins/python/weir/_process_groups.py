"""Process groups of ``torch.distributed`` where a process set is wanted."""

from typing import Any

from weir import _job
from weir._communicators import is_process_group
from weir._process_sets import ProcessSet, add_process_set, expect, global_process_set, registered
from weir.errors import InvalidArgument


def set_of(given: Any) -> ProcessSet:
    """Returns a process set as it is, and for a process group of torch.distributed the set of its ranks,
    which is registered when its first group comes. Collective for groups: every rank of the job gives the
    one that it is in, as of a DeviceMesh.

    Raises TypeError for anything else, ValueError if the ranks of the job have other numbers in
    torch.distributed.
    """
    if not is_process_group(given):
        expect(given)
        return given  # type: ignore[no-any-return]
    _check_numbers()
    made = ProcessSet(given)
    if made.ranks == global_process_set.ranks:
        return global_process_set
    for known in registered():
        if known.one_of_several and known.ranks == made.ranks:
            return known
    return add_process_set(made)


def _check_numbers() -> None:
    import torch.distributed as dist

    rank, size = dist.get_rank(), dist.get_world_size()
    if (rank, size) != (_job.rank(), _job.size()):
        raise InvalidArgument(
            f"this process is rank {rank} of {size} of torch.distributed and rank {_job.rank()} of "
            f"{_job.size()} of Weir: give init_process_group(rank=weir.torch.rank(), "
            "world_size=weir.torch.size()), or start the program with torchrun")
