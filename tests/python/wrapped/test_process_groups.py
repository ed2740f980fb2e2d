"""Process groups of torch.distributed where Weir takes process sets."""

import pytest
import torch
import torch.distributed as dist

import weir.torch as hvd
from weir._process_sets import registered

from compared import flat, net, noise


@pytest.fixture
def halves(rank, size):
    """The group of even ranks, or of odd ones: each rank has the one that it is in."""
    groups = [dist.new_group(list(range(i, size, 2))) for i in range(min(2, size))]
    yield groups[rank % len(groups)]
    for made in registered():
        hvd.remove_process_set(made)


def test_a_group_is_added_as_a_set(halves, rank, size):
    if size < 3:  # All ranks, or sets of one.
        return
    added = hvd.add_process_set(halves)
    assert added.ranks == list(range(rank % 2, size, 2))
    total = hvd.allreduce(torch.tensor(rank), op=hvd.Sum, process_set=added)
    assert total.item() == sum(added.ranks)
    assert hvd.remove_process_set(added)


@pytest.mark.parametrize("wrap", ["optimizer", "compress"])
def test_groups_train_apart(wrap, halves, rank, size):
    model = net(6, 8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    if wrap == "optimizer":
        called = model
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters(), "dgc", process_set=halves)
    else:
        called = torch.nn.parallel.DistributedDataParallel(model, process_group=halves)
        optimizer = hvd.compress(called, optimizer, "dgc")
    for step in range(4):
        optimizer.zero_grad()
        called(noise(rank, step, 8, 6)).square().mean().backward()
        optimizer.step()
    everyone = hvd.allgather(flat(model.parameters())[None])
    for other, one in enumerate(everyone):
        assert torch.equal(one, everyone[rank]) == (other % 2 == rank % 2)


def test_the_group_of_all_is_the_global_set(rank):
    model = net(6, 8, 3)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.05),
                                         process_set=dist.group.WORLD)
    model(noise(rank, 0, 8, 6)).square().mean().backward()
    optimizer.step()
    ours = flat(model.parameters())
    assert torch.equal(hvd.broadcast(ours, 0), ours)


def test_other_numbers_are_named(monkeypatch, rank, size):
    monkeypatch.setattr(dist, "get_rank", lambda: rank + 1)
    with pytest.raises(ValueError, match=f"is rank {rank + 1} of {size} of torch.distributed and rank {rank} of"):
        hvd.DistributedOptimizer(torch.optim.SGD(net(6, 8, 3).parameters(), lr=0.05),
                                 process_set=dist.group.WORLD)
