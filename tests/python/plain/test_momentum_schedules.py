"""Schedulers that change more than the learning rate, and options of SGD that compressors take over."""

import copy

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, Rank, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def train(world, make, schedule, steps=14):
    model = net(6, 8, 3)
    optimizer = world.wrapped(make(model.parameters()), model)
    scheduler = schedule(optimizer)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        optimizer.step()
        scheduler.step()
    return model.parameters()


def one_cycle(optimizer):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=20)


def cyclic(optimizer):
    return torch.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, step_size_up=3)


SGD = {
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "decay": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.02),
    "nesterov, decay": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True,
                                                 weight_decay=0.02),
}


@every_compression
@pytest.mark.parametrize("name", SGD)
@pytest.mark.parametrize("schedule", [one_cycle, cyclic])
def test_momentum_cycles(schedule, name, compression):
    compare(lambda world: train(world, SGD[name], schedule), compression)


@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_betas_cycle(kind, compression):
    compare(lambda world: train(world, lambda p: kind(p, lr=0.01), one_cycle), compression)


class WeightDecay(torch.optim.lr_scheduler.LambdaLR):
    """Changes the weight decay, as some recipes do."""

    def step(self, epoch=None):
        super().step(epoch)
        for group in self.optimizer.param_groups:
            group["weight_decay"] = 0.02 * (1 + self.last_epoch)


@every_compression
def test_weight_decay_changes(compression):
    compare(lambda world: train(world, SGD["decay"], lambda optimizer: WeightDecay(
        optimizer, lambda step: 1.0)), compression)


@every_compression
@pytest.mark.parametrize("decay", [0.0, 0.02])
@pytest.mark.parametrize("dampening", [0.1, 0.9])
def test_dampening(dampening, decay, compression):
    compare(lambda world: train(world, lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.9, dampening=dampening, weight_decay=decay), one_cycle), compression)


def test_adam_in_the_compressor_follows_its_beta(rank, size):
    """With everything sent, the mean of the ranks' steps of Adam on their own gradients."""
    def made(wrap):
        parameter = torch.nn.Parameter(torch.ones(4, 8))
        optimizer = wrap(torch.optim.AdamW([parameter], lr=0.01, weight_decay=0.0))
        return parameter, optimizer, one_cycle(optimizer)
    compression = hvd.Compression.dgc(density=1.0, momentum="adam", values="fp32", min_elements=1,
                                      policy="always")
    ours = made(lambda optimizer: hvd.DistributedOptimizer(optimizer, compression=compression))
    alone = [made(lambda optimizer: optimizer) for _ in range(size)]
    for step in range(8):
        for r, (parameter, optimizer, scheduler) in [(rank, ours), *enumerate(alone)]:
            optimizer.zero_grad()
            parameter.backward(noise(r, step, 4, 8))
            optimizer.step()
            scheduler.step()
    mean = torch.stack([parameter.detach() for parameter, _, _ in alone]).mean(0)
    torch.testing.assert_close(ours[0].detach(), mean, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("key,value", [("nesterov", True), ("momentum", 0.0)])
def test_what_a_compressor_cannot_follow_is_named(key, value):
    model = net(6, 8, 3)
    first = 0.9 if key == "nesterov" else 0.0
    optimizer = Rank(COMPRESSIONS["dgc, 5 %"]).wrapped(
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=first), model)
    model(noise(hvd.rank(), 0, 8, 6)).square().mean().backward()
    optimizer.param_groups[0][key] = value or 0.5
    with pytest.raises(ValueError, match=f"{key} of parameter group 0 has changed"):
        optimizer.step()


@pytest.mark.parametrize("name", SGD)
@pytest.mark.parametrize("compression", ["dgc, all", "dgc, 5 %"])
def test_a_cycle_goes_on_where_a_checkpoint_ends(name, compression):
    def made(state=None):
        model = net(6, 8, 3)
        optimizer = Rank(COMPRESSIONS[compression]).wrapped(SGD[name](model.parameters()), model)
        scheduler = one_cycle(optimizer)
        if state is not None:
            for part, saved in zip((model, optimizer, scheduler), state):
                part.load_state_dict(saved)
        return model, optimizer, scheduler

    def steps(model, optimizer, scheduler, numbers):
        for step in numbers:
            optimizer.zero_grad()
            model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
            optimizer.step()
            scheduler.step()
        return [parameter.detach().clone() for parameter in model.parameters()]

    whole = steps(*made(), range(10))
    first = made()
    steps(*first, range(5))
    # A scheduler's state refers to its optimizer in PyTorch 1.
    state = [*(copy.deepcopy(part.state_dict()) for part in first[:2]), dict(first[2].state_dict())]
    resumed = steps(*made(state), range(5, 10))
    assert all(torch.equal(one, other) for one, other in zip(whole, resumed))
