"""Gradients through every operation, against the formulas."""

import math

import pytest
import torch

import weir.torch as hvd


@pytest.mark.parametrize("op,factor", [(hvd.Sum, lambda size: size), (hvd.Average, lambda size: 1)])
def test_allreduce_gradient(rank, size, op, factor):
    tensor = torch.rand(4, requires_grad=True)
    hvd.allreduce(tensor, op=op).sum().backward()
    torch.testing.assert_close(tensor.grad, torch.full((4,), float(factor(size))))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_allreduce_gradient_is_scaled_as_the_values_are(size, dtype):
    tensor = torch.ones(4, dtype=dtype, requires_grad=True)
    hvd.allreduce(tensor, op=hvd.Sum, prescale_factor=0.5, postscale_factor=4.0).sum().backward()
    assert tensor.grad.dtype == dtype
    assert tensor.grad.tolist() == [2.0 * size] * 4


def test_allgather_gradient(rank, size):
    tensor = torch.rand(rank + 1, requires_grad=True)
    gathered = hvd.allgather(tensor)
    weights = torch.arange(float(gathered.numel()))
    (gathered * weights).sum().backward()
    before = rank * (rank + 1) // 2
    assert torch.equal(tensor.grad, weights[before:before + rank + 1])


def test_broadcast_gradient(rank, size):
    tensor = torch.rand(3, requires_grad=True)
    (hvd.broadcast(tensor, size - 1) * (rank + 1)).sum().backward()
    mean = (size + 1) / 2 if rank == size - 1 else 0.0
    torch.testing.assert_close(tensor.grad, torch.full((3,), mean))


def test_alltoall_gradient(rank, size):
    tensor = torch.rand(size * 2 + 1, requires_grad=True)  # The last row goes nowhere.
    output, _ = hvd.alltoall(tensor, torch.full((size,), 2, dtype=torch.int32))
    (output * (rank + 1)).sum().backward()
    expected = [float(other + 1) for other in range(size) for _ in range(2)] + [0.0]
    assert tensor.grad.tolist() == expected


@pytest.mark.parametrize("op,factor", [(hvd.Sum, lambda size: size), (hvd.Average, lambda size: 1)])
def test_reducescatter_gradient(rank, size, op, factor):
    tensor = torch.rand(size + 1, requires_grad=True)
    (hvd.reducescatter(tensor, op=op, postscale_factor=3.0) * (rank + 1)).sum().backward()
    owners = [1.0, 1.0] + [float(r + 1) for r in range(1, size)]
    assert tensor.grad.tolist() == [3.0 * factor(size) * owner for owner in owners]


@pytest.mark.parametrize("op, combine", [
    (hvd.Min, lambda size: 1), (hvd.Max, lambda size: size), (hvd.Product, math.factorial)])
def test_the_gradient_of_other_combinations_is_combined_the_same_way(rank, size, op, combine):
    tensor = torch.rand(4, requires_grad=True)
    (hvd.allreduce(tensor, op=op) * (rank + 1)).sum().backward()
    assert tensor.grad.tolist() == [float(combine(size))] * 4


def test_adasum_gradient(rank, size):
    tensor = torch.rand(4, requires_grad=True)
    weights = torch.arange(4.0) + rank
    (hvd.allreduce(tensor, op=hvd.Adasum) * weights).sum().backward()
    assert torch.equal(tensor.grad, hvd.allreduce(weights, op=hvd.Adasum))


@pytest.mark.parametrize("operation", [
    hvd.allreduce, hvd.allgather, lambda t: hvd.broadcast(t, 0), hvd.alltoall, hvd.reducescatter,
    lambda t: hvd.grouped_allreduce([t])[0], lambda t: hvd.grouped_allgather([t])[0],
    lambda t: hvd.grouped_reducescatter([t])[0]])
def test_nothing_is_recorded_without_gradients(size, operation):
    tensor = torch.ones(size, requires_grad=True)
    assert operation(tensor).requires_grad
    with torch.no_grad():
        assert not operation(tensor).requires_grad
    assert not operation(tensor.detach()).requires_grad


def test_grouped_allreduce_gradient(size):
    tensors = [torch.rand(3, requires_grad=True), torch.rand(2, requires_grad=True)]
    a, b = hvd.grouped_allreduce(tensors, op=hvd.Sum)
    (a.sum() + 2 * b.sum()).backward()
    assert tensors[0].grad.tolist() == [float(size)] * 3
    assert tensors[1].grad.tolist() == [2.0 * size] * 2


def test_grouped_row_gradients(rank, size):
    tensors = [torch.rand(size, requires_grad=True) for _ in range(2)]
    for tensor, part in zip(tensors, hvd.grouped_reducescatter(tensors)):
        part.sum().backward()
        assert tensor.grad.tolist() == [1.0] * size
        tensor.grad = None
    for tensor, whole in zip(tensors, hvd.grouped_allgather(tensors)):
        whole.sum().backward()
        assert tensor.grad.tolist() == [1.0] * size


def test_grouped_row_gradients_of_different_shapes(rank, size):
    tensors = [torch.rand(rank + 1, 2, requires_grad=True), torch.rand(3, requires_grad=True)]
    a, b = hvd.grouped_allgather(tensors)
    weights = torch.arange(a.numel(), dtype=a.dtype).view_as(a) * (rank + 1)
    ((a * weights).sum() + 5 * b.sum()).backward()
    before = rank * (rank + 1) // 2
    mean = sum(range(1, size + 1)) / size
    own = torch.arange(2.0 * before, 2.0 * (before + rank + 1)).view(rank + 1, 2)
    torch.testing.assert_close(tensors[0].grad, own * mean)
    assert tensors[1].grad.tolist() == [5.0] * 3

    tensors = [torch.rand(size + 1, 2, requires_grad=True), torch.rand(2, requires_grad=True)]
    a, b = hvd.grouped_reducescatter(tensors, op=hvd.Sum, prescale_factor=0.5)
    ((rank + 1) * a.sum() + b.sum()).backward()
    owner = [r for r in range(size) for _ in range((size + 1) // size + (r < (size + 1) % size))]
    expected = torch.tensor([[0.5 * size * (r + 1)] * 2 for r in owner])
    torch.testing.assert_close(tensors[0].grad, expected)
    assert tensors[1].grad.tolist() == [0.5 * size] * 2


def test_a_group_may_have_members_without_gradients(rank, size):
    floats, integers = torch.rand(2, requires_grad=True), torch.tensor([rank, rank])
    for operation in (hvd.grouped_allgather, hvd.grouped_allreduce):
        result, numbers = operation([floats, integers])
        assert not numbers.requires_grad
        result.sum().backward()
        assert floats.grad.tolist() == [1.0, 1.0]
        floats.grad = None
