"""Operations that are started and waited for later, and in place: the same results as at once."""

import threading

import pytest
import torch

import weir.torch as hvd


def mine(rank):
    return torch.arange(6.0).view(3, 2) * (rank + 1)


def total(size):
    return sum(mine(r) for r in range(size))


def test_allreduce(rank, size):
    given = mine(rank)
    assert torch.equal(hvd.synchronize(hvd.allreduce_async(given, op=hvd.Sum)), total(size))
    assert torch.equal(given, mine(rank))
    found = hvd.synchronize(hvd.allreduce_async_(given, op=hvd.Sum))
    assert found is given and torch.equal(given, total(size))


def test_allgather(rank, size):
    found = hvd.synchronize(hvd.allgather_async(mine(rank)))
    assert torch.equal(found, torch.cat([mine(r) for r in range(size)]))


def test_broadcast(rank, size):
    root = size - 1
    given = mine(rank)
    assert torch.equal(hvd.synchronize(hvd.broadcast_async(given, root)), mine(root))
    assert torch.equal(given, mine(rank))
    found = hvd.synchronize(hvd.broadcast_async_(given, root))
    assert found is given and torch.equal(given, mine(root))


def test_alltoall(rank, size):
    rows = torch.full((size, 2), float(rank))
    expected = torch.arange(float(size)).view(size, 1).expand(size, 2)
    output, received = hvd.synchronize(hvd.alltoall_async(rows))
    assert torch.equal(output, expected)
    assert torch.equal(received, torch.ones(size, dtype=torch.int32))
    output, received = hvd.synchronize(hvd.alltoall_async(rows, [1] * size))
    assert torch.equal(output, expected) and received.dtype == torch.int32


def test_reducescatter(rank, size):
    found = hvd.synchronize(hvd.reducescatter_async(mine(rank), op=hvd.Sum))
    rows = [3 // size + (r < 3 % size) for r in range(size)]
    before = sum(rows[:rank])
    assert torch.equal(found, total(size)[before:before + rows[rank]])


def test_groups(rank, size):
    given = [mine(rank), mine(rank) + 1]
    sums = [total(size), total(size) + size]
    found = hvd.synchronize(hvd.grouped_allreduce_async_(given, op=hvd.Sum))
    assert all(a is b for a, b in zip(found, given))
    assert all(torch.equal(a, b) for a, b in zip(given, sums))
    tensors = [mine(rank), mine(rank) + 1]
    gathered = hvd.synchronize(hvd.grouped_allgather_async(tensors))
    for i, found in enumerate(gathered):
        assert torch.equal(found, torch.cat([mine(r) + i for r in range(size)]))
    parts = hvd.synchronize(hvd.grouped_reducescatter_async(tensors, op=hvd.Sum))
    for part, of_sum in zip(parts, sums):
        assert torch.equal(torch.cat(hvd.allgather_object(part)), of_sum)


def test_other_threads_run_while_one_waits(rank):
    """The interpreter's lock is given up, also by the rank that waits for the others."""
    submitted, may_go_on = threading.Event(), threading.Event()

    def wait():
        handle = hvd.allreduce_async(torch.ones(1), name="waits")
        submitted.set()
        hvd.synchronize(handle)
        may_go_on.set()

    if rank == 0:
        waiting = threading.Thread(target=wait)
        waiting.start()
        submitted.wait()
        count = sum(1 for _ in range(100_000))  # Runs beside the wait.
        assert count == 100_000
    hvd.barrier()  # Rank 0 comes here although its other thread still waits.
    if rank == 0:
        waiting.join()
        assert may_go_on.is_set()
    else:
        wait()


def test_a_name_may_come_again_with_another_shape(rank, size):
    for rows in (1, 5, 2):
        found = hvd.allreduce(torch.full((rows,), float(rank)), name="again", op=hvd.Sum)
        assert found.tolist() == [size * (size - 1) / 2] * rows
        assert hvd.allgather(torch.ones(rows), name="again").shape == (rows * size,)


def test_splits_have_one_dimension(size):
    with pytest.raises(ValueError, match="splits"):
        hvd.alltoall(torch.ones(size, 2), torch.ones(size, 1, dtype=torch.int32))


@pytest.mark.parametrize("operation", [hvd.alltoall, lambda t: hvd.reducescatter(t, op=hvd.Sum)])
def test_a_scalar_has_no_rows(operation):
    with pytest.raises(ValueError, match="a rank-zero tensor"):
        operation(torch.tensor(1.0))


@pytest.mark.parametrize("operation", [hvd.allreduce, hvd.allgather, hvd.alltoall,
                                       hvd.reducescatter, lambda t: hvd.broadcast(t, 0)])
def test_tensors_of_other_devices_are_refused(operation):
    with pytest.raises(ValueError, match="exchanges tensors of CPUs and CUDA devices, and this one is on meta"):
        operation(torch.ones(4, device="meta"))


def test_what_the_job_was_left_with_is_told(rank, size):
    done = hvd.allreduce_async(torch.ones(2), op=hvd.Sum)
    while not hvd.poll(done):
        pass
    hvd.barrier()
    # No two ranks submit the same: with several it is never agreed on.
    lost = hvd.allreduce_async(torch.ones(2), name=f"of rank {rank}") if size > 1 else None
    hvd.shutdown()
    assert torch.equal(hvd.synchronize(done), torch.full((2,), float(size)))
    if lost is not None:
        with pytest.raises(hvd.ShutDown):
            hvd.synchronize(lost)
    hvd.init()

