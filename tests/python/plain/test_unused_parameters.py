"""Parameters that a step does not use: a plain optimizer leaves them alone."""

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, Rank, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "Nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
}


def freezing(world, make, frozen_in, steps=10):
    model = net(6, 8, 8, 3)
    optimizer = world.wrapped(make(model.parameters()), model)
    moved = []
    for step in range(steps):
        model[0].requires_grad_(step not in frozen_in)
        before = model[0].weight.detach().clone()
        optimizer.zero_grad(set_to_none=True)
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        optimizer.step()
        if step in frozen_in:
            moved.append(model[0].weight.detach() - before)
            assert model[0].weight.grad is None
    assert all(not one.any() for one in moved)
    return model.parameters()


@every_compression
@pytest.mark.parametrize("frozen_in", [{2, 3}, {0}, {1, 4, 5, 9}, set(range(5, 10))])
@pytest.mark.parametrize("name", ["SGD", "Nesterov"])
def test_a_layer_is_frozen_for_some_steps(name, frozen_in, compression):
    compare(lambda world: freezing(world, OPTIMIZERS[name], frozen_in), compression)


@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
def test_a_layer_is_frozen_for_some_steps_of_adam(compression):
    compare(lambda world: freezing(world, OPTIMIZERS["AdamW"], {2, 3}), compression)


def heads(world, head_of, steps=12):
    """A trunk with three heads, each rank with its own head in each step."""
    trunk, many = net(6, 8), torch.nn.ModuleList(net(8, 3, seed=10 + i) for i in range(3))
    optimizer = world.wrapped(OPTIMIZERS["SGD"]([*trunk.parameters(), *many.parameters()]),
                              trunk, many)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        world.mean(lambda rank: many[head_of(rank, step)](
            trunk(noise(rank, step, 8, 6))).square().mean()).backward()
        optimizer.step()
    return [*trunk.parameters(), *many.parameters()]


@every_compression
@pytest.mark.parametrize("head_of", [lambda rank, step: step % 3, lambda rank, step: rank % 3,
                                     lambda rank, step: (rank + step) % 3,
                                     lambda rank, step: min(rank, step) % 3])
def test_heads_that_some_ranks_use_or_none(head_of, compression):
    compare(lambda world: heads(world, head_of), compression)


def test_what_was_not_sent_of_an_unused_parameter_stays():
    def unsent(steps):
        model = net(6, 64, 3)
        optimizer = Rank(COMPRESSIONS["dgc, 5 %"]).wrapped(OPTIMIZERS["SGD"](model.parameters()),
                                                           model)
        for step in range(steps):
            model[2].requires_grad_(step < 4)
            optimizer.zero_grad(set_to_none=True)
            model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
            optimizer.step()
        velocity = torch.empty(model[2].weight.shape)
        slot = optimizer._weir_slots[model[2].weight]
        slot.exchange.copy_velocity(slot.index, velocity)
        return velocity, model[2].weight.detach()
    (before, weights), (after, weights_after) = unsent(4), unsent(8)
    assert before.any()
    assert torch.equal(before, after) and torch.equal(weights, weights_after)


def test_adam_in_the_compressor_leaves_it_alone_too():
    model = net(6, 8, 3)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1), model.named_parameters(),
        hvd.Compression.dgc(density=0.1, momentum="adam", min_elements=1))
    for step in range(6):
        model[2].requires_grad_(step < 3)
        before = model[2].weight.detach().clone()
        optimizer.zero_grad(set_to_none=True)
        model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
        optimizer.step()
        assert torch.equal(before, model[2].weight) == (step >= 3)
