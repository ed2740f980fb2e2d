"""Programs that look at gradients, or change them, between the backward pass and the step."""

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, Rank, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


CLIPPING = {
    "norm": lambda model: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05),
    "norm, by name": lambda model: torch.nn.utils.clip_grad_norm_(
        parameters=list(model.parameters()), max_norm=0.05),
    "value": lambda model: torch.nn.utils.clip_grad_value_(model.parameters(), 0.002),
    "one tensor": lambda model: torch.nn.utils.clip_grad_norm_(model[0].weight, 0.01),
}


def clipped(world, clip, steps=6):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        CLIPPING[clip](model)
        optimizer.step()
    return model.parameters()


@pytest.mark.parametrize("clip", CLIPPING)
def test_gradients_are_clipped(clip):
    compare(lambda world: clipped(world, clip), "none")


@pytest.mark.parametrize("clip", CLIPPING)
@pytest.mark.parametrize("compression", ["dgc, 5 %"])
def test_directions_of_dgc_are_clipped(clip, compression):
    compare(lambda world: clipped(world, clip), compression)


needs_scaler = pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"),
                                  reason="before PyTorch 2.3 it is for CUDA alone")


def scaled(world, unscales, overflows_in=(), steps=8):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    for step in range(steps):
        optimizer.zero_grad()
        factor = float("inf") if step in overflows_in else 1.0
        loss = world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()
                          * (factor if rank == 0 else 1.0))
        scaler.scale(loss).backward()
        if unscales:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        scaler.step(optimizer)
        scaler.update()
    return [*model.parameters(), torch.tensor(scaler.get_scale())]


@needs_scaler
@every_compression
@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("overflows_in", [(), (2,), (0, 5)])
def test_a_scaler_steps_without_synchronize(unscales, overflows_in, compression):
    compare(lambda world: scaled(world, unscales, overflows_in), compression)


@pytest.mark.parametrize("dtype", [torch.bfloat16, pytest.param(
    torch.float16, marks=pytest.mark.skipif(torch.__version__.startswith("1."),
                                            reason="PyTorch 1 has only bfloat16 on the CPU"))])
@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
def test_autocast(dtype, compression):
    def program(world):
        model = net(6, 8, 3)
        optimizer = world.wrapped(sgd(model), model)
        for step in range(6):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=dtype):
                loss = world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean())
            loss.backward()
            optimizer.step()
        return model.parameters()
    compare(program, compression, rtol=0.05, atol=5e-3)


@every_compression
def test_a_gradient_that_is_changed_too_early_is_named(compression):
    model = net(6, 8, 3)
    optimizer = Rank(COMPRESSIONS[compression]).wrapped(sgd(model), model)
    for step in range(3):
        optimizer.zero_grad()
        model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
        model[2].weight.grad.mul_(0.5)
        with pytest.raises(ValueError, match="gradient of '0.2.weight' was changed between"):
            optimizer.step()
    optimizer.zero_grad()
    model(noise(hvd.rank(), 5, 8, 6)).square().mean().backward()
    optimizer.synchronize()
    model[2].weight.grad.mul_(0.5)
    with optimizer.skip_synchronize():
        optimizer.step()
