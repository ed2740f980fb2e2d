"""A program that has mpi4py, and makes process sets of its communicators; MPI is mpi4py's, which
initialises it first.

Run by CTest: weirrun -np 4 python communicators.py
"""

from mpi4py import MPI

import torch

import weir.torch as hvd


def expect(found, expected):
    assert found == expected, f"{found!r} instead of {expected!r}"


def total(process_set):
    return hvd.allreduce(torch.tensor(2.0**hvd.rank()), op=hvd.Sum, process_set=process_set).item()


world = MPI.COMM_WORLD
split = hvd.ProcessSet(world.Split(color=world.rank % 2, key=-world.rank))
own = [r for r in range(world.size) if r % 2 == world.rank % 2]
expect(split.ranks, own)
for _ in range(2):  # Again with known sets, as after an elastic reset.
    hvd.init(world, process_sets=[split])
    expect((hvd.rank(), hvd.size()), (world.rank, world.size))
    expect(split.process_set_id, 1 + world.rank % 2)
    expect(total(split), float(sum(2**r for r in own)))
    expect(world.allreduce(1), world.size)  # MPI goes on beside it.
    assert hvd.remove_process_set(split)
    expect((split.process_set_id, split.included()), (None, None))
    hvd.add_process_set(split)
    expect(total(split), float(sum(2**r for r in own)))
    hvd.shutdown()

# Members give the communicator, the others the members' ranks; and errors of one of them.
hvd.init()
half = range(world.size // 2)
of_half = world.Create(world.Get_group().Incl(list(half)))
some = hvd.add_process_set(list(half) if of_half == MPI.COMM_NULL else hvd.ProcessSet(of_half))
expect(some.ranks, list(half))
try:
    hvd.add_process_set(hvd.ProcessSet(world.Split(color=world.rank not in half, key=0)))
    raise AssertionError("a set was added that exists")
except ValueError as error:
    assert "has the ranks" in str(error), error
hvd.remove_process_set(some)
split = hvd.add_process_set(hvd.ProcessSet(world.Split(color=world.rank not in half, key=0)))
optimizer = None
if world.rank not in half:  # The second of the sets is in use, and then it is not.
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([weight], lr=0.1), process_set=split)
    for step in range(3):  # The last one is under way.
        weight.sum().backward()
        if step < 2:
            optimizer.step()
try:
    hvd.remove_process_set(split)
    raise AssertionError("a set was removed that is in use")
except (ValueError, hvd.Mismatch) as error:
    assert "optimizer" in str(error) or "gradient" in str(error), error
if optimizer is not None:
    optimizer.step()
assert hvd.remove_process_set(split)
hvd.shutdown()

for bad in ([0], world.Split(color=world.rank % 2, key=0)):
    try:
        hvd.init(comm=bad)
        raise AssertionError("init took some ranks for a job")
    except ValueError as error:
        assert f"and the job has {world.size}" in str(error), error
        assert "process_sets=[ProcessSet(...)]" in str(error), error
    assert not hvd.is_initialized()
hvd.init(comm=range(world.size))
expect(total(hvd.global_process_set), 2.0**world.size - 1)
if world.rank == 0:
    try:
        hvd.ProcessSet(MPI.COMM_NULL)
        raise AssertionError("a set of nobody was made")
    except ValueError as error:
        assert "MPI.COMM_NULL has no ranks" in str(error), error
hvd.shutdown()
