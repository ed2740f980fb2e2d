"""Parameters of every kind under DistributedDataParallel, against one process on the mean of the losses."""

import copy

import pytest
import torch

import weir.torch as hvd

from by_ddp import check, sgd
from compared import COMPRESSIONS, Alone, Mixture, net, noise, two_models

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def mixture(world, which, zeros=False, steps=16):
    model = Mixture()
    optimizer = world.wrapped(sgd(model, weight_decay=0.01), model)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=not zeros)
        world.mean(lambda rank: model(noise(rank, step, 8, 6), which(rank, step)).square().mean()
                   ).backward()
        optimizer.step()
    return model.parameters()


WHICH = {"the same on all": lambda rank, step: step // 3 % 4,
         "another on each": lambda rank, step: (rank + step // 3) % 4}


@every_compression
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("options", ["unused", "unused, views"])
@pytest.mark.parametrize("which", WHICH)
def test_experts_that_are_not_used(which, options, zeros, compression):
    check(lambda world: mixture(world, WHICH[which], zeros), compression, options)


def used_in_some_passes(world, steps=12):
    """Two passes a step, without no_sync(): an expert may be used in the first one alone, on some ranks."""
    model = Mixture()
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        for which in (lambda rank: (rank + step) % 4, lambda rank: step % 2):
            world.mean(lambda rank: model(noise(rank, step, 8, 6), which(rank)).square().mean()).backward()
        optimizer.step()
    return model.parameters()


@every_compression
@pytest.mark.parametrize("options", ["unused", "unused, views"])
def test_experts_that_are_used_in_some_passes(options, compression):
    check(used_in_some_passes, compression, options)


@every_compression
@pytest.mark.parametrize("first_one_lives", [False, True])
def test_another_optimizer_for_a_second_phase(first_one_lives, compression):
    def program(world):
        model = net(6, 8, 8, 3)
        optimizers = [world.wrapped(sgd(model), model)]
        for step in range(16):
            if step == 8:
                if not first_one_lives:
                    optimizers.clear()
                optimizers.append(world.wrapped(torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5), model))
            optimizers[-1].zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizers[-1].step()
        return model.parameters()
    check(program, compression)


@pytest.mark.parametrize("compression", ["none", "dgc"])
def test_parameters_that_the_wrapper_ignores(compression, rank):
    model = net(6, 8, 3)
    kind = torch.nn.parallel.DistributedDataParallel
    kind._set_params_and_buffers_to_ignore_for_model(model, ["0.bias"])
    wrapper = kind(model)
    before = model[0].bias.detach().clone()
    optimizer = hvd.compress(wrapper, sgd(model), compression)
    for step in range(4):
        optimizer.zero_grad()
        wrapper(noise(rank, step, 8, 6)).square().mean().backward()
        optimizer.step()
    assert not torch.equal(model[0].bias, before)


@every_compression
def test_a_frozen_layer(compression):
    def program(world):
        model = net(6, 8, 8, 3)
        model[2].requires_grad_(False)
        optimizer = world.wrapped(sgd(model, weight_decay=0.1), model)
        for step in range(6):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizer.step()
        return model.parameters()
    check(program, compression, "views")


@every_compression
def test_two_optimizers_of_one_model(compression):
    def program(world):
        model = net(6, 8, 8, 3)
        first = world.wrapped(torch.optim.SGD(model[0].parameters(), lr=0.05, momentum=0.9), model)
        second = world.wrapped(torch.optim.SGD([*model[2].parameters(), *model[4].parameters()],
                                               lr=0.02, momentum=0.5), model)
        for step in range(12):
            first.zero_grad()
            second.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            second.step()
            first.step()
        return model.parameters()
    check(program, compression, "small buckets, views")


@every_compression
@pytest.mark.parametrize("passes", ["one", "each its own"])
def test_one_optimizer_of_two_models(passes, compression):
    check(lambda world: two_models(world, in_one_pass=passes == "one"), compression)


@every_compression
def test_parameters_without_an_optimizer(compression):
    """Their gradients are the mean, too, as with DistributedDataParallel alone."""
    def program(world):
        model = net(6, 8, 8, 3)
        optimizer = world.wrapped(torch.optim.SGD(model[0].parameters(), lr=0.05, momentum=0.9), model)
        for step in range(6):
            model.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizer.step()
        if compression == "dgc, 5 %":
            return model[0].parameters()
        return [*model.parameters(), *(one.grad for one in model[2].parameters())]
    check(program, compression)


@every_compression
@pytest.mark.parametrize("options", ["plain", "views"])
def test_channels_last(options, compression):
    def program(world):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Tanh(), torch.nn.Conv2d(4, 2, 3)
                                    ).to(memory_format=torch.channels_last)
        optimizer = world.wrapped(sgd(model, weight_decay=0.01), model)
        for step in range(12):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 2, 3, 7, 7).to(
                memory_format=torch.channels_last)).square().mean()).backward()
            optimizer.step()
        return model.parameters()
    check(program, compression, options)


@pytest.mark.parametrize("compression", ["none", "fp16", "dgc"])
def test_sparse_gradients(compression, rank, size):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Embedding(20, 4, sparse=True), torch.nn.Linear(4, 2))
    wrapper = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = hvd.compress(wrapper, torch.optim.SGD(model.parameters(), lr=0.1), compression)
    alone = copy.deepcopy(model)
    plain = torch.optim.SGD(alone.parameters(), lr=0.1)
    for step in range(6):
        optimizer.zero_grad()
        wrapper(torch.tensor([step, rank, 3])).square().mean().backward()
        optimizer.step()
        plain.zero_grad()
        (sum(alone(torch.tensor([step, each, 3])).square().mean() for each in range(size)) / size
         ).backward()
        plain.step()
    assert model[0].weight.grad.is_sparse
    if compression == "none":
        torch.testing.assert_close(model[0].weight, alone[0].weight)
    assert torch.equal(hvd.broadcast(model[0].weight, 0), model[0].weight)


@pytest.mark.parametrize("dtype", [torch.float64, pytest.param(torch.bfloat16, marks=pytest.mark.skipif(
    torch.__version__.startswith("1."), reason="gloo of PyTorch 1 has no bfloat16"))])
@pytest.mark.parametrize("compression", ["none", "topk"])
def test_other_types(dtype, compression, rank, size):
    model = net(6, 8, 3).to(dtype)
    wrapper = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = hvd.compress(wrapper, torch.optim.SGD(model.parameters(), lr=0.05), compression)
    for step in range(4):
        optimizer.zero_grad()
        wrapper(noise(rank, step, 8, 6).to(dtype)).square().mean().backward()
        optimizer.step()
    for one in model.parameters():
        assert torch.equal(hvd.broadcast(one.detach(), 0), one)


@pytest.mark.skipif(torch.__version__.startswith("1."), reason="PyTorch 1's does not import in Python 3.11")
@every_compression
def test_an_optimizer_whose_state_is_spread_over_the_ranks(compression):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def program(world):
        model = net(6, 20, 20, 3)
        kind = torch.optim.SGD
        optimizer = (kind(model.parameters(), lr=0.05, momentum=0.9) if isinstance(world, Alone) else
                     ZeroRedundancyOptimizer(model.parameters(), kind, lr=0.05, momentum=0.9))
        optimizer = world.wrapped(optimizer, model)
        for step in range(12):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizer.step()
        return model.parameters()
    check(program, compression)
