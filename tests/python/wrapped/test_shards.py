"""Models that fully_shard has sharded, with replicas whose gradients Weir exchanges: 2 x 2 on 4 ranks."""

import io
import warnings

import pytest
import torch

import weir.torch as hvd

from by_ddp import sgd
from compared import COMPRESSIONS, Alone, Rank, compare, flat, net, noise

if torch.__version__.startswith("1."):
    pytest.skip("fully_shard came with PyTorch 2.6", allow_module_level=True)
fsdp = pytest.importorskip("torch.distributed.fsdp")
mesh_of = pytest.importorskip("torch.distributed.device_mesh").init_device_mesh

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def mesh():
    size = hvd.size()
    shape = (size // 2, 2) if size % 2 == 0 else (size, 1)
    return mesh_of("cpu", shape, mesh_dim_names=("replicate", "shard"))


def sharded(model, over, **options):
    for layer in model:
        if any(True for _ in layer.parameters()):
            fsdp.fully_shard(layer, mesh=over["shard"], **options)
    return fsdp.fully_shard(model, mesh=over["shard"], **options)


class Sharded(Rank):
    """The program has made its optimizer of the parameters as they were before."""

    def wrapped(self, optimizer, *models):
        over = mesh()
        places = [[next((i, name) for i, model in enumerate(models)
                        for name, mine in model.named_parameters() if mine is one)
                   for one in group["params"]] for group in optimizer.param_groups]
        for model in models:
            sharded(model, over)
        for group, of_group in zip(optimizer.param_groups, places):
            group["params"] = [dict(models[i].named_parameters())[name] for i, name in of_group]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # What is taken over from the optimizer.
            return hvd.compress(list(models), optimizer, self.compression, replicate=over["replicate"])


def check(program, compression):
    compare(program, compression, rank=Sharded)


def trained(world, make=sgd, steps=12, passes=1, clip=None):
    model = net(6, 20, 20, 3)
    optimizer = world.wrapped(make(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        for i in range(passes):
            world.mean(lambda rank: model(noise(rank, 10 * step + i, 8, 6)).square().mean()).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    return model.parameters()


OPTIMIZERS = {
    "momentum": sgd,
    "nesterov": lambda model: sgd(model, nesterov=True),
    "weight decay": lambda model: sgd(model, weight_decay=0.1),
    "dampening": lambda model: sgd(model, dampening=0.5),
    "no momentum": lambda model: torch.optim.SGD(model.parameters(), lr=0.05),
}


@every_compression
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training(optimizer, compression):
    check(lambda world: trained(world, OPTIMIZERS[optimizer]), compression)


@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
def test_adamw(compression):
    check(lambda world: trained(world, lambda model: torch.optim.AdamW(model.parameters(), lr=0.01)),
          compression)


@every_compression
def test_accumulation(compression):
    check(lambda world: trained(world, passes=3), compression)


@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
def test_clipping(compression):
    check(lambda world: trained(world, clip=0.05), compression)


@every_compression
def test_shards_without_any_element(compression):
    def program(world):
        model = net(6, 8, 1)  # The last layer has one row, and the second rank of a host none of it.
        optimizer = world.wrapped(sgd(model), model)
        for step in range(8):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizer.step()
        return model.parameters()
    check(program, compression)


@every_compression
def test_dropped_passes(compression):
    def program(world):
        model = net(6, 20, 3)
        optimizer = world.wrapped(sgd(model), model)
        for step in range(16):
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            if step % 3 != 1:
                optimizer.step()
        return model.parameters()
    check(program, compression)


def job(model, compression, **options):
    over = mesh()
    sharded(model, over, **options)
    return hvd.compress(model, sgd(model), compression, replicate=over["replicate"])


def train(model, optimizer, steps):
    for step in steps:
        optimizer.zero_grad()
        model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("compression", ["none", "fp16", "dgc", "powersgd", "topk"])
def test_state_is_resumed_bit_for_bit(compression):
    straight, stopped, resumed = (net(6, 20, 20, 3) for _ in range(3))
    train(straight, job(straight, compression), range(12))
    first = job(stopped, compression)
    train(stopped, first, range(6))
    saved = io.BytesIO()
    torch.save((stopped.state_dict(), first.state_dict()), saved)
    saved.seek(0)
    of_model, of_optimizer = torch.load(saved, weights_only=False)
    second = job(resumed, compression)
    resumed.load_state_dict(of_model)
    second.load_state_dict(of_optimizer)
    train(resumed, second, range(6, 12))
    assert torch.equal(flat(straight.parameters()), flat(resumed.parameters()))


@every_compression
def test_another_optimizer_for_a_second_phase(compression):
    """The first one is still there."""
    def program(world):
        model = net(6, 20, 3)
        optimizers = [world.wrapped(sgd(model), model)]
        for step in range(16):
            if step == 8:
                second = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
                optimizers.append(second if isinstance(world, Alone) else
                                  hvd.compress(model, second, COMPRESSIONS[compression],
                                               replicate=mesh()["replicate"]))
            optimizers[-1].zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
            optimizers[-1].step()
        return model.parameters()
    check(program, compression)


def test_mixed_precision(rank):
    model = net(6, 20, 3)
    policy = fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    train(model, job(model, "dgc", mp_policy=policy), range(6))
    ours = flat(model.parameters())
    assert torch.equal(hvd.broadcast(ours, 0), ours)


def test_replicas_begin_equal(rank):
    model = net(6, 20, 3, seed=rank)
    job(model, "dgc")
    # Each shard is that of the first replica, whose ranks have different seeds.
    for one in model.parameters():
        full = one.full_tensor()
        assert torch.equal(hvd.broadcast(full, 0), full)


def test_misuse_is_named(size):
    over = mesh()
    model = sharded(net(6, 8, 3), over)
    with pytest.raises(ValueError, match='give compress.*replicate=mesh."replicate".'):
        hvd.compress(model, sgd(model), "dgc")
    if size % 2:
        return
    with pytest.raises(ValueError, match="is sharded among ranks .*give the dimension that the parameters are not"):
        hvd.compress(model, sgd(model), "dgc", replicate=over["shard"])
    both = net(6, 8, 3)
    fsdp.fully_shard(both, mesh=over)
    with pytest.raises(ValueError, match="fully_shard exchanges its gradients along that one by itself"):
        hvd.compress(both, sgd(both), "dgc", replicate=over["replicate"])
