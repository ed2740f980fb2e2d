"""Adasum of tensors, and of the moves of an optimizer."""

import pytest
import torch

import weir.torch as hvd


def pair(a, b):
    dot, aa, bb = (a * b).sum(), (a * a).sum(), (b * b).sum()
    return (1 - dot / (2 * aa) if aa else 1) * a + (1 - dot / (2 * bb) if bb else 1) * b


def reference(tensors):
    """Neighbours first; a tensor without one waits for the next level."""
    while len(tensors) > 1:
        pairs = [tensors[i:i + 2] for i in range(0, len(tensors), 2)]
        tensors = [pair(*each) if len(each) == 2 else each[0] for each in pairs]
    return tensors[0]


def of(rank, shape, dtype=torch.float64):
    generator = torch.Generator().manual_seed(100 + rank)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def test_a_process_set_combines_its_own(rank, size):
    if size < 2:
        pytest.skip("a set of some needs others")
    some = hvd.add_process_set(range(1, size))
    try:
        if rank > 0:
            found = hvd.allreduce(of(rank, (5,)), op=hvd.Adasum, process_set=some)
            expected = reference([of(other, (5,)) for other in range(1, size)])
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
        parameter = torch.nn.Parameter(torch.zeros(5, dtype=torch.float64))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), op=hvd.Adasum,
                                             process_set=some)
        parameter.backward(of(rank, (5,)))
        optimizer.step()
        moves = [-of(other, (5,)) for other in (range(1, size) if rank else [0])]
        torch.testing.assert_close(parameter.detach(), reference(moves), rtol=1e-12, atol=1e-12)
        del optimizer
    finally:
        hvd.remove_process_set(some)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(5,), (3, 7), (2, 3, 4)])
def test_tensors_follow_the_reference(rank, size, dtype, shape):
    expected = reference([of(other, shape, dtype).double() for other in range(size)])
    mine = of(rank, shape, dtype)
    close = dict(rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    found = hvd.allreduce(mine, op=hvd.Adasum)
    assert torch.allclose(found.double(), expected, **close)
    assert torch.equal(hvd.broadcast(found, 0), found)
    one, two = hvd.grouped_allreduce([mine, 2 * mine], op=hvd.Adasum)
    assert torch.equal(one, found) and torch.allclose(two.double(), 2 * expected, **close)
    handle = hvd.allreduce_async_(mine, op=hvd.Adasum)
    assert torch.equal(hvd.synchronize(handle), found) and torch.equal(mine, found)


def test_whole_numbers_are_refused_before_anything_is_sent(size):
    with pytest.raises(ValueError, match="Adasum works on floating-point types, not on int64"):
        hvd.allreduce(torch.ones(2, dtype=torch.int64), op=hvd.Adasum)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def trained(optimizer_of, rank, steps):
    torch.manual_seed(3)
    net = torch.nn.Linear(6, 4).double()
    optimizer = optimizer_of(net)
    for step in range(steps):
        optimizer.zero_grad()
        net(of(rank, (8, 6)) + step).square().mean().backward()
        optimizer.step()
    return net


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                                  lambda p: torch.optim.Adam(p, lr=0.01)], ids=["SGD", "Adam"])
def test_the_moves_of_an_optimizer_are_combined(rank, size, make):
    def distributed(net):
        return hvd.DistributedOptimizer(make(net.parameters()), op=hvd.Adasum,
                                        named_parameters=net.named_parameters())

    start = trained(lambda net: make(net.parameters()), rank, 0)
    ones = [trained(lambda net: make(net.parameters()), other, 1) for other in range(size)]
    net = trained(distributed, rank, 1)
    for parameter, begin, *ends in zip(net.parameters(), start.parameters(),
                                       *(one.parameters() for one in ones)):
        expected = begin + reference([end - begin for end in ends])
        assert torch.allclose(parameter, expected, rtol=1e-12, atol=1e-12)
    for parameter in trained(distributed, rank, 4).parameters():
        assert torch.equal(hvd.broadcast(parameter.detach(), 0), parameter)


def test_an_optimizer_of_moves_has_the_members_of_every_distributed_optimizer():
    net = torch.nn.Linear(2, 2)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1), op=hvd.Adasum,
                                         named_parameters=net.named_parameters())
    with optimizer.looking_ahead():
        net(torch.ones(2)).sum().backward()
    optimizer.set_grad_scaler(None)
    optimizer.step()
    assert optimizer.step_report is None


def test_an_optimizer_of_moves_casts_them_or_says_that_it_cannot(rank, size):
    def distributed(compression):
        return lambda net: hvd.DistributedOptimizer(
            torch.optim.SGD(net.parameters(), lr=0.1), op=hvd.Adasum, compression=compression,
            named_parameters=net.named_parameters())

    exact = trained(distributed(hvd.Compression.none), rank, 1)
    cast = trained(distributed(hvd.Compression.fp16), rank, 1)
    for a, b in zip(exact.parameters(), cast.parameters()):
        assert torch.allclose(a, b, rtol=0, atol=2e-3) and not torch.equal(a, b)
    with pytest.raises(ValueError, match="with op=Adasum: whole tensors are combined"):
        trained(distributed(hvd.Compression.dgc(density=0.01)), rank, 0)
    optimizer = distributed(hvd.Compression.none)(torch.nn.Linear(2, 2))
    with pytest.raises(AssertionError, match="Skipping synchronization is not supported"):
        with optimizer.skip_synchronize():
            pass


def test_ranks_that_have_joined_change_nothing(rank, size):
    mine = of(rank, (6,))
    if rank != size - 1:
        hvd.join()
        return
    assert torch.equal(hvd.allreduce(mine, op=hvd.Adasum, name="alone"), mine)
    hvd.join()
