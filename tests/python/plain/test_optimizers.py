"""Optimizers that want something special of gradients, or of the program."""

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, Rank, compare, net, noise


def lbfgs(world, steps=2, **options):
    model = net(6, 8, 3)
    optimizer = world.wrapped(torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, **options),
                              model)
    losses = []
    for _ in range(steps):
        def closure():
            optimizer.zero_grad()
            loss = world.mean(lambda rank: (model(noise(rank, 0, 16, 6)) - 0.3).square().mean())
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).detach())
    return [*model.parameters(), *losses]


@pytest.mark.parametrize("options", [{}, {"line_search_fn": "strong_wolfe"}])
def test_lbfgs(options):
    compare(lambda world: lbfgs(world, **options), "none", rtol=1e-3, atol=1e-4)


def test_lbfgs_is_refused_with_a_compressor():
    model = net(6, 8, 3)
    with pytest.raises(ValueError, match="LBFGS computes losses and gradients several times"):
        Rank(COMPRESSIONS["dgc, 5 %"]).wrapped(torch.optim.LBFGS(model.parameters()), model)
    optimizer = Rank(COMPRESSIONS["none"]).wrapped(torch.optim.LBFGS(model.parameters()), model)
    with pytest.raises(ValueError, match="give step.. a closure"):
        optimizer.step()


class SparseRank(Rank):
    def wrapped(self, optimizer, *models):
        return hvd.DistributedOptimizer(optimizer, compression=self.compression,
                                        sparse_as_dense=True)


@pytest.mark.parametrize("unused", [False, True])
def test_sparse_adam_with_gradients_that_are_exchanged_as_dense_ones(rank, size, unused):
    def program(mean, wrapped):
        torch.manual_seed(1)
        table = torch.nn.Embedding(20, 3, sparse=True)
        optimizer = wrapped(torch.optim.SparseAdam(table.parameters(), lr=0.1))
        for step in range(6):
            optimizer.zero_grad()
            rows = {r: torch.arange(r, r + 5) + step for r in range(size)}
            mean(lambda r: table(rows[r]).square().sum() * (0.0 if unused and r else 1.0)).backward()
            optimizer.step()
        return table.weight.detach()
    ours = program(lambda f: f(rank), SparseRank(hvd.Compression.none).wrapped)
    alone = program(lambda f: sum(f(r) for r in range(size)) / size, lambda optimizer: optimizer)
    if not unused:  # Else a row that is zero on all ranks is not in the union of their rows.
        torch.testing.assert_close(ours, alone)
    assert torch.equal(hvd.allgather(ours[None])[0], ours)


MAKERS = {name: getattr(torch.optim, name) for name in dir(torch.optim)
          if isinstance(getattr(torch.optim, name), type)
          and issubclass(getattr(torch.optim, name), torch.optim.Optimizer)
          and name not in ("Optimizer", "LBFGS", "SparseAdam")}


@pytest.mark.parametrize("name", MAKERS)
def test_every_optimizer_of_pytorch(name):
    def program(world):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(6, 8, bias=False), torch.nn.Tanh(),
                                    torch.nn.Linear(8, 3, bias=False))  # Muon takes matrices alone.
        optimizer = world.wrapped(MAKERS[name](model.parameters(), lr=0.01), model)
        for step in range(5):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizer.step()
        return model.parameters()
    # Rprop and Muon amplify differences of rounding.
    loose = name in ("Rprop", "Muon")
    compare(program, "none", rtol=0.05 if loose else 1e-3, atol=1e-3 if loose else 1e-5)


@pytest.mark.parametrize("wraps", [False, True])
@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("name", MAKERS)
def test_every_optimizers_state_is_broadcast(rank, name, steps, wraps):
    torch.manual_seed(rank)
    model = torch.nn.Linear(6, 4, bias=False)
    optimizer = MAKERS[name](model.parameters(), lr=0.01 * (rank + 1))
    if wraps:
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    else:
        for _ in range(steps if rank == 0 else 0):
            model(noise(rank, 0, 4, 6)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    hvd.broadcast_parameters(model.state_dict(), 0)
    hvd.broadcast_optimizer_state(optimizer, 0)
    assert optimizer.param_groups[0]["lr"] == 0.01
    for _ in range(2):  # The same steps on all ranks, from now on.
        optimizer.zero_grad()
        model(noise(0, 1, 4, 6)).square().mean().backward()
        optimizer.step()
    everyone = hvd.allgather(model.weight.detach()[None])
    assert all(torch.equal(everyone[0], one) for one in everyone)
