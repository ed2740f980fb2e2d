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


def test_grouped_allreduce_gradient(size):
    tensors = [torch.rand(3, requires_grad=True), torch.rand(2, requires_grad=True)]
    a, b = hvd.grouped_allreduce(tensors, op=hvd.Sum)
    (a.sum() + 2 * b.sum()).backward()
    assert tensors[0].grad.tolist() == [float(size)] * 3
    assert tensors[1].grad.tolist() == [2.0 * size] * 2


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


def test_grouped_row_gradients(rank, size):
    tensors = [torch.rand(size, requires_grad=True) for _ in range(2)]
    for tensor, part in zip(tensors, hvd.grouped_reducescatter(tensors)):
        part.sum().backward()
        assert tensor.grad.tolist() == [1.0] * size
        tensor.grad = None
    for tensor, whole in zip(tensors, hvd.grouped_allgather(tensors)):
        whole.sum().backward()
        assert tensor.grad.tolist() == [1.0] * size


def test_a_group_that_cannot_be_enqueues_nothing(rank, size):
    bad = [torch.ones(2), torch.ones(2, 3).t()]
    for operation in (hvd.grouped_allreduce_async, hvd.grouped_allgather_async,
                      hvd.grouped_reducescatter_async):
        with pytest.raises(ValueError, match="contiguous"):
            operation(bad, name="group")
        with pytest.raises(ValueError, match="at least one"):
            operation([], name="group")
        good = [torch.ones(size), torch.ones(size)]
        assert len(hvd.synchronize(operation(good, name="group"))) == 2


def test_groups_that_differ_are_told(rank, size):
    if size == 1:
        pytest.skip("nobody to disagree with")
    with pytest.raises(hvd.Mismatch, match="Mismatched ALLREDUCE tensor shapes in a group: tensor "
                                           "number 1 differs"):
        hvd.grouped_allreduce([torch.ones(2), torch.ones(2 + rank)], name="group")
    assert len(hvd.grouped_allreduce([torch.ones(2)] * 2, name="group")) == 2


@pytest.mark.parametrize("operation, kind", [
    (hvd.grouped_allgather_async, "allgather"), (hvd.grouped_reducescatter_async, "reducescatter")])
def test_a_group_is_submitted_whole_or_not_at_all(rank, size, operation, kind):
    """Its last member's name is under way, or its last member has no rows."""
    single = getattr(hvd, f"{kind}_async")
    if rank == 0 and size > 1:
        taken = single(torch.ones(4), name="whole.2of2")  # The others come later.
        with pytest.raises(ValueError, match="same name as another tensor that is currently being"):
            operation([torch.ones(4), torch.ones(4)], name="whole")
    hvd.barrier()
    hvd.synchronize(taken if rank == 0 and size > 1 else single(torch.ones(4), name="whole.2of2"))
    with pytest.raises(ValueError, match="rank-zero tensor"):
        operation([torch.ones(4), torch.tensor(1.0)], name="whole")
    # Nothing is left of what was refused: the names are free.
    assert len(hvd.synchronize(operation([torch.ones(4), torch.ones(4)], name="whole"))) == 2
