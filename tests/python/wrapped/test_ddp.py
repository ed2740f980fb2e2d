"""DistributedDataParallel whose gradients Weir exchanges, against one process on the mean of the losses."""

import contextlib
import io
import pickle

import pytest
import torch

import weir.torch as hvd

from by_ddp import OPTIONS, check, sgd
from compared import COMPRESSIONS, flat, needs_scaler, net, noise, scaled

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)
every_option = pytest.mark.parametrize("options", OPTIONS)


def trained(world, make=sgd, steps=12, clip=None, clear=lambda optimizer, model: optimizer.zero_grad()):
    model = net(6, 20, 20, 3)
    optimizer = world.wrapped(make(model), model)
    for step in range(steps):
        clear(optimizer, model)
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    return model.parameters()


@every_compression
@every_option
def test_training(options, compression):
    check(trained, compression, options)


OPTIMIZERS = {
    "nesterov": lambda model: sgd(model, nesterov=True),
    "weight decay": lambda model: sgd(model, weight_decay=0.1),
    "dampening": lambda model: sgd(model, dampening=0.5),
    "no momentum": lambda model: torch.optim.SGD(model.parameters(), lr=0.05),
}


@every_compression
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_what_the_compressor_takes_over(optimizer, compression):
    check(lambda world: trained(world, OPTIMIZERS[optimizer]), compression, "views")


@every_compression
def test_adamw(compression):
    check(lambda world: trained(world, lambda model: torch.optim.AdamW(model.parameters(), lr=0.01)),
          "none" if compression == "dgc, all" else compression)


# --- passes ---


def accumulated(world, synchronised, steps=12, passes=3):
    """`synchronised`: in no pass but the last, or in all of them."""
    model = net(6, 20, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        for i in range(passes):
            with world.no_sync() if not synchronised and i + 1 < passes else contextlib.nullcontext():
                world.mean(lambda rank: model(noise(rank, 10 * step + i, 8, 6)).square().mean()
                           ).backward()
        optimizer.step()
    return model.parameters()


@every_compression
@pytest.mark.parametrize("options", ["plain", "views", "small buckets, views", "unused"])
@pytest.mark.parametrize("synchronised", [False, True])
def test_accumulation(synchronised, options, compression):
    check(lambda world: accumulated(world, synchronised), compression, options)


def gan(world, order, steps=24):
    generator, critic = net(6, 8, 4, seed=1), net(4, 8, 1, seed=2)
    of_g = world.wrapped(sgd(generator), generator)
    of_d = world.wrapped(sgd(critic), critic)
    for step in range(steps):
        if order[step % len(order)] == "g":
            of_g.zero_grad()
            world.mean(lambda rank: critic(generator(noise(rank, step, 8, 6))).mean()).backward()
            of_g.step()
        else:
            of_d.zero_grad()
            with torch.no_grad():
                fakes = [generator(noise(rank, step, 8, 6)) for rank in range(hvd.size())]
            world.mean(lambda rank: (critic(torch.cat([noise(rank, 100 + step, 8, 4), fakes[rank]]))
                                     ).square().mean()).backward()
            of_d.step()
    return [*generator.parameters(), *critic.parameters()]


@every_compression
@pytest.mark.parametrize("order", ["gd", "dg", "ddg", "gggd", "dddddddddddddddddddg"])
def test_a_generators_loss_runs_through_the_critic(order, compression):
    check(lambda world: gan(world, order), compression, "views")


CLEARS = {
    "the model's": lambda optimizer, model: model.zero_grad(),
    "zeros": lambda optimizer, model: optimizer.zero_grad(set_to_none=False),
    "the model's zeros": lambda optimizer, model: model.zero_grad(set_to_none=False),
    "by hand": lambda optimizer, model: [setattr(one, "grad", None) for one in model.parameters()],
}


def skipping(world, clear, first, steps=16):
    model = net(6, 20, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        clear(optimizer, model)
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        if step % 3 != first:
            optimizer.step()
    return model.parameters()


@every_compression
@pytest.mark.parametrize("first", [0, 1])  # After the first pass DistributedDataParallel changes its buckets.
@pytest.mark.parametrize("options", ["plain", "views"])
@pytest.mark.parametrize("clear", CLEARS)
def test_dropped_passes(clear, options, first, compression):
    check(lambda world: skipping(world, CLEARS[clear], first), compression, options)


# --- what stands around a step ---


@needs_scaler
@every_compression
@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("overflows_in", [(), (2,), (0, 5)])
def test_a_scaler(unscales, overflows_in, compression):
    check(lambda world: scaled(world, unscales, overflows_in, weight_decay=0.01), compression, "views")


@every_compression
def test_clipping(compression):
    check(lambda world: trained(world, clip=0.05), "none" if compression == "dgc, all" else compression)


@every_compression
@pytest.mark.filterwarnings("error:.*overridden after learning rate scheduler")
@pytest.mark.parametrize("before", [True, False])
def test_a_scheduler_that_was_made_before_or_after(before, compression):
    def program(world):
        model = net(6, 8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        if before:
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, 12)
        optimizer = world.wrapped(optimizer, model)
        if not before:
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, 12)
        for step in range(12):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizer.step()
            schedule.step()
        return model.parameters()
    check(program, compression)


def test_the_optimizer_stays_the_same_object():
    model = net(6, 8, 3)
    optimizer = sgd(model)
    wrapper = torch.nn.parallel.DistributedDataParallel(model)
    assert hvd.compress(wrapper, optimizer, "dgc") is optimizer
    assert isinstance(optimizer, torch.optim.SGD)


@pytest.mark.parametrize("compression", ["none", "fp16", "dgc", "powersgd", "topk"])
@pytest.mark.parametrize("views", [False, True])
def test_state_is_resumed_bit_for_bit(views, compression, rank):
    def job(model):
        wrapper = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=views,
                                                            bucket_cap_mb=0.0005)
        return wrapper, hvd.compress(wrapper, sgd(model, nesterov=True, weight_decay=0.01), compression)

    def train(wrapper, optimizer, steps):
        for step in steps:
            optimizer.zero_grad()
            wrapper(noise(rank, step, 8, 6)).square().mean().backward()
            optimizer.step()

    straight, stopped, resumed = (net(6, 20, 20, 3) for _ in range(3))
    train(*job(straight), range(12))
    first = job(stopped)
    train(*first, range(6))
    saved = io.BytesIO()
    torch.save((stopped.state_dict(), first[1].state_dict()), saved)
    saved.seek(0)
    of_model, of_optimizer = torch.load(saved, weights_only=not torch.__version__.startswith("1."))
    second = job(resumed)
    resumed.load_state_dict(of_model)
    second[1].load_state_dict(of_optimizer)
    train(*second, range(6, 12))
    for one, other in zip(straight.parameters(), resumed.parameters()):
        assert torch.equal(one, other)


@every_compression
def test_uneven_ends(compression, rank, size):
    """Ranks with fewer batches count as zeros, and have the others' parameters in the end."""
    model = net(6, 20, 3)
    wrapper = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.0005)
    optimizer = hvd.compress(wrapper, sgd(model), COMPRESSIONS[compression])
    with wrapper.join():
        for step in range(4 + 2 * rank):
            optimizer.zero_grad()
            wrapper(noise(rank, step, 8, 6)).square().mean().backward()
            optimizer.step()
    ours = flat(model.parameters())
    assert torch.equal(hvd.broadcast(ours, 0), ours)
    if compression == "dgc, 5 %":
        return
    alone = net(6, 20, 3)
    plain = sgd(alone)
    for step in range(4 + 2 * (size - 1)):
        plain.zero_grad()
        (sum(alone(noise(each, step, 8, 6)).square().mean() for each in range(size)
             if step < 4 + 2 * each) / size).backward()
        plain.step()
    torch.testing.assert_close(ours, flat(alone.parameters()), rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="it came with PyTorch 2")
@pytest.mark.parametrize("compression", ["none", "dgc"])
@pytest.mark.parametrize("outside", [True, False])
def test_a_compiled_model(outside, compression, rank):
    model = net(6, 20, 3)
    inner = model if outside else torch.compile(model, backend="eager")
    wrapper = torch.nn.parallel.DistributedDataParallel(inner)
    called = torch.compile(wrapper, backend="eager") if outside else wrapper
    optimizer = hvd.compress(called, sgd(model), compression)
    for step in range(4):
        optimizer.zero_grad()
        called(noise(rank, step, 8, 6)).square().mean().backward()
        optimizer.step()
    assert torch.equal(hvd.broadcast(flat(model.parameters()), 0), flat(model.parameters()))


@needs_scaler
@every_compression
@pytest.mark.parametrize("synchronised", [False, True])
def test_a_scaler_and_accumulation(synchronised, compression):
    def program(world):
        model = net(6, 8, 3)
        optimizer = world.wrapped(sgd(model), model)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
        for step in range(12):
            optimizer.zero_grad()
            for i in range(2):
                with world.no_sync() if i == 0 and not synchronised else contextlib.nullcontext():
                    scaler.scale(world.mean(lambda rank: model(noise(rank, 10 * step + i, 8, 6)).square().mean())
                                 ).backward()
            scaler.step(optimizer)
            scaler.update()
        return model.parameters()
    check(program, compression)


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="it came with PyTorch 2")
@every_compression
def test_a_compiled_step(compression):
    def program(world):
        model = net(6, 8, 3)
        optimizer = world.wrapped(sgd(model, weight_decay=0.01), model)
        step_of = torch.compile(lambda: optimizer.step(), backend="eager")
        for step in range(6):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            step_of()
        return model.parameters()
    check(program, compression)


@pytest.mark.skipif(torch.__version__.startswith("1."), reason="it came with PyTorch 2")
def test_a_state_for_distributed_checkpoints_before_the_first_step():
    from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict

    model = net(6, 8, 3)
    wrapper = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = hvd.compress(wrapper, torch.optim.AdamW(model.parameters()), "dgc")
    assert get_optimizer_state_dict(wrapper, optimizer)["state"]


@pytest.mark.parametrize("compression", ["none", "dgc"])
def test_the_model_is_pickled_and_the_optimizer_is_not(compression):
    model = net(6, 8, 3)
    wrapper = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = hvd.compress(wrapper, sgd(model), compression)
    pickle.loads(pickle.dumps(wrapper))
    if compression == "dgc":
        with pytest.raises(TypeError, match="save its state_dict"):
            pickle.dumps(optimizer)


# --- misuse ---


def test_misuse_is_named():
    model = net(6, 8, 3)
    with pytest.raises(ValueError, match="and got a Sequential: wrap it first"):
        hvd.compress(model, sgd(model))
    wrapper = torch.nn.parallel.DistributedDataParallel(model)
    with pytest.raises(TypeError, match="takes a torch.optim.Optimizer, not a str"):
        hvd.compress(wrapper, "sgd")
    other = net(6, 8, 3)
    with pytest.raises(ValueError, match=r"parameter 0 of the optimizer's group 0, of shape \[8, 6\]"):
        hvd.compress(wrapper, sgd(other), "dgc")
    with pytest.raises(ValueError, match="is not known"):
        hvd.compress(wrapper, sgd(model), 0.01)
    optimizer = hvd.compress(wrapper, sgd(model), "dgc")
    with pytest.raises(ValueError, match="gradients of this model are exchanged in another way already"):
        hvd.compress(wrapper, sgd(model), "fp16")
    hooked = torch.nn.parallel.DistributedDataParallel(net(6, 8, 3))
    hooked.register_comm_hook(None, lambda state, bucket: None)
    if hasattr(hooked, "_comm_hooks"):
        with pytest.raises(ValueError, match="has a communication hook already"):
            hvd.compress(hooked, sgd(hooked), "dgc")
    if hvd.size() > 1:
        with pytest.raises(ValueError, match="rank 0 has the compression .* and rank 1 has"):
            hvd.compress(torch.nn.parallel.DistributedDataParallel(net(6, 8, 3)), sgd(model),
                         "dgc" if hvd.rank() == 1 else "fp16")
    with pytest.raises(ValueError, match="exchanges gradients already"):
        hvd.compress(wrapper, optimizer, "dgc")
    with wrapper.no_sync():
        wrapper(noise(hvd.rank(), 0, 8, 6)).square().mean().backward()
    with pytest.raises(ValueError, match="under no_sync"):
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    optimizer.step()  # As a plain one does, without any gradient.
