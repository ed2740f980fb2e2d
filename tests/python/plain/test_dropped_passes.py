"""Programs that have no use for the gradients of some backward passes."""

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, Rank, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, **options)


def gan(world, order, steps=24, zero=lambda optimizer, model: optimizer.zero_grad()):
    """`order`: which of the two takes a step, "g" or "d", again and again."""
    generator, critic = net(6, 8, 4, seed=1), net(4, 8, 1, seed=2)
    of_g = world.wrapped(sgd(generator), generator)
    of_d = world.wrapped(sgd(critic), critic)
    for step in range(steps):
        turn = order[step % len(order)]
        if turn == "g":
            zero(of_g, generator)
            world.mean(lambda rank: critic(generator(noise(rank, step, 8, 6))).mean()).backward()
            of_g.step()
        else:
            zero(of_d, critic)
            for real in (True, False):  # Two passes for one step.
                world.mean(lambda rank: (
                    critic(noise(rank, 100 + step, 8, 4)) - 1 if real else
                    critic(generator(noise(rank, step, 8, 6)).detach())).square().mean()).backward()
            of_d.step()
    return [*generator.parameters(), *critic.parameters()]


@every_compression
@pytest.mark.parametrize("order", ["gd", "dg", "ddddg", "gggd", "dddddddddddddddddddg"])
def test_a_generators_loss_runs_through_the_critic(order, compression):
    compare(lambda world: gan(world, order), compression)


@every_compression
def test_the_model_is_asked_to_forget_its_gradients(compression):
    compare(lambda world: gan(world, "gd", zero=lambda optimizer, model: model.zero_grad()),
            compression)


@every_compression
def test_gradients_are_kept_as_zeros(compression):
    compare(lambda world: gan(world, "dgg", zero=lambda optimizer, model: optimizer.zero_grad(
        set_to_none=False)), compression)


def with_saliency(world, every, steps=12):
    model = net(6, 8, 3)
    optimizer = world.wrapped(torch.optim.AdamW(model.parameters(), lr=0.01), model)
    maps = []
    for step in range(steps):
        if step % every == every - 1:
            inputs = torch.ones(4, 6, requires_grad=True)
            model(inputs).max(1).values.sum().backward()
            maps.append(inputs.grad)
        optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        optimizer.step()
    return [*model.parameters(), *maps]


@every_compression
@pytest.mark.parametrize("every", [1, 3, 7])
def test_a_saliency_map_before_the_step(every, compression):
    if compression == "dgc, all":
        compression = "none"  # Adam after DGC is another thing at any density.
    compare(lambda world: with_saliency(world, every), compression)


def skipping(world, skipped, steps=12):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        spike = 1e30 if step in skipped else 1.0
        world.mean(lambda rank: spike * model(noise(rank, step, 8, 6)).square().mean()).backward()
        if step not in skipped:
            optimizer.step()
    optimizer.zero_grad()
    return model.parameters()


@every_compression
@pytest.mark.parametrize("skipped", [{0}, {1}, {5}, {5, 6}, {3, 7, 8, 11}])
def test_steps_are_skipped(skipped, compression):
    compare(lambda world: skipping(world, skipped), compression)


def test_a_spike_that_was_dropped_leaves_no_trace_in_what_was_not_sent():
    def state_after(skipped):
        model = net(6, 8, 3)
        optimizer = Rank(COMPRESSIONS["dgc, 5 %"]).wrapped(sgd(model), model)
        for step in [*range(4), *skipped, *range(4, 6)]:
            optimizer.zero_grad()
            factor = 1e20 if step == 99 else 1.0
            (factor * model(noise(hvd.rank(), step, 8, 6)).square().mean()).backward()
            if step != 99:
                optimizer.step()
        return optimizer.state_dict()["weir"]["exchanges"], list(model.parameters())
    (saved, weights), (expected, expected_weights) = state_after([99, 99]), state_after([])
    assert all(torch.equal(a, b) for a, b in zip(saved, expected))
    assert all(torch.equal(a, b) for a, b in zip(weights, expected_weights))


def halves(world, steps=8):
    """Two optimizers over one model, and one loss for both."""
    model = net(6, 8, 8, 3)
    first, second = (world.wrapped(sgd(model[i]), model[i]) for i in (0, 4))
    for step in range(steps):
        for optimizer in ((first, second), (second, first), (first,))[step % 3]:
            optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        (first, second)[step % 2].step()
    return [*model[0].parameters(), *model[4].parameters()]


@every_compression
def test_two_optimizers_take_turns_over_one_loss(compression):
    # Where the second keeps its gradient, it adds up: which is one more pass for one step.
    compare(halves, compression)


