"""Grouped operations: the results of their members, as one handle."""

import pytest
import torch

import weir.torch as hvd

from test_collectives import REDUCED, of_rank, part_of


def group_of(rank):
    """Tensors of several types and sizes, small ones that are fused and one that is not."""
    return ([of_rank(rank + 7 * i, dims, dtype) for i, dtype in enumerate(REDUCED)
             for dims in (1, 2, 3)] + [torch.full((50_000,), float(rank))])


def sums(size):
    groups = [group_of(r) for r in range(size)]
    return [torch.stack([t.double() for t in tensors]).sum(0).to(tensors[0].dtype)
            for tensors in zip(*groups)]


def assert_all_equal(found, expected):
    assert isinstance(found, tuple) and len(found) == len(expected)
    assert all(torch.equal(a, b) for a, b in zip(found, expected))


def test_grouped_allreduce(rank, size):
    mine = group_of(rank)
    for _ in range(2):
        assert_all_equal(hvd.grouped_allreduce(mine, op=hvd.Sum, name="group"), sums(size))
    assert_all_equal(hvd.synchronize(hvd.grouped_allreduce_async(mine, op=hvd.Sum)), sums(size))
    assert_all_equal(tuple(mine), group_of(rank))
    returned = hvd.grouped_allreduce_(mine, op=hvd.Sum)
    assert all(a is b for a, b in zip(returned, mine))
    assert_all_equal(returned, sums(size))


def test_grouped_allreduce_scales_and_casts(rank, size):
    mine = [torch.ones(3), torch.ones(4) * (1 + 2.0**-14)]
    found = hvd.grouped_allreduce(mine, op=hvd.Sum, compression=hvd.Compression.fp16,
                                  prescale_factor=0.5, postscale_factor=4.0)
    assert_all_equal(found, [torch.full((3,), 2.0 * size), torch.full((4,), 2.0 * size)])


def test_grouped_allgather(rank, size):
    def member(r, i):
        return torch.full((r % 3, i + 1), 10 * r + i)
    found = hvd.grouped_allgather([member(rank, i) for i in range(4)])
    assert_all_equal(found, [torch.cat([member(r, i) for r in range(size)]) for i in range(4)])


def test_grouped_reducescatter(rank, size):
    def member(r, i):
        return torch.arange(float(i + 5)) * (r + 1)
    found = hvd.grouped_reducescatter([member(rank, i) for i in range(4)], op=hvd.Sum)
    assert_all_equal(found, [part_of(rank, size, sum(member(r, i) for r in range(size)))
                             for i in range(4)])


def test_a_group_that_cannot_be_enqueues_nothing(rank, size):
    bad = [torch.ones(2), torch.ones(2, 3, dtype=torch.complex64)]
    for operation in (hvd.grouped_allreduce_async, hvd.grouped_allgather_async,
                      hvd.grouped_reducescatter_async):
        with pytest.raises(ValueError, match="is not supported"):
            operation(bad, name="group")
        with pytest.raises(ValueError, match="at least one"):
            operation([], name="group")
        good = [torch.ones(size), torch.ones(size)]
        assert len(hvd.synchronize(operation(good, name="group"))) == 2


@pytest.mark.parametrize("operation, kind", [
    (hvd.grouped_allreduce, "ALLREDUCE"), (hvd.grouped_allgather, "ALLGATHER"),
    (hvd.grouped_reducescatter, "REDUCESCATTER")])
def test_groups_that_differ_are_told_of_the_tensor(rank, size, operation, kind):
    if size == 1:
        pytest.skip("nobody to disagree with")
    with pytest.raises(hvd.Mismatch, match=f"Mismatched {kind} tensor shapes: One rank sent a "
                                           r"tensor .*\(tensor 'grouped_.*group\[1\]': rank 0 has"):
        operation([torch.ones(2), torch.ones(2, 2 + rank)], name="group")
    with pytest.raises(hvd.Mismatch, match=f"Mismatched {kind} groups: One rank sent a group of 1 "
                                           "tensor, but another rank sent a group of 2 tensors."):
        operation([torch.ones(2)] * min(rank + 1, 2), name="group")
    assert len(operation([torch.ones(2)] * 2, name="group")) == 2


@pytest.mark.parametrize("operation", [
    hvd.grouped_allreduce_async, hvd.grouped_allgather_async, hvd.grouped_reducescatter_async])
def test_a_group_whose_name_is_under_way_enqueues_nothing(rank, size, operation):
    group = [torch.ones(4), torch.ones(4)]
    if rank == 0 and size > 1:
        handle = operation(group, name="taken")  # The others come later.
        with pytest.raises(ValueError, match="same name as another tensor that is currently being"):
            operation(group, name="taken")
    hvd.barrier()
    if rank != 0 or size == 1:
        handle = operation(group, name="taken")
    assert len(hvd.synchronize(handle)) == 2


@pytest.mark.parametrize("operation", [
    hvd.grouped_allreduce, hvd.grouped_allreduce_, hvd.grouped_allgather, hvd.grouped_reducescatter,
    lambda tensors: hvd.synchronize(hvd.grouped_allreduce_async(tensors)),
    lambda tensors: hvd.synchronize(hvd.grouped_allgather_async(tensors)),
    lambda tensors: hvd.synchronize(hvd.grouped_reducescatter_async(tensors))])
def test_a_group_may_come_from_a_generator(size, operation):
    assert len(operation(torch.ones(size) for _ in range(3))) == 3
