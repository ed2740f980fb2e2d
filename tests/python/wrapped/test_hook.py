"""The communication hook alone, as a program registers it."""

import pytest
import torch

import weir.torch as hvd

from compared import flat, net, noise


def job(model, compression, **options):
    wrapper = torch.nn.parallel.DistributedDataParallel(model, **options)
    state = hvd.HookState(wrapper, compression)
    wrapper.register_comm_hook(state, hvd.hook)
    return wrapper, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), state


def train(wrapper, optimizer, steps):
    for step in steps:
        optimizer.zero_grad()
        wrapper(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0005}])
@pytest.mark.parametrize("compression,tolerance", [
    ("none", 1e-6), ("dense", 1e-6), ("fp16", 1e-3), ("bf16", 1e-2),
    ({"compressor": "topk", "k": 1.0, "ef": "vanilla"}, 1e-5), ("powersgd", 0.5)])
def test_training(compression, tolerance, options, size):
    model, alone = net(6, 20, 3), net(6, 20, 3)
    wrapper, optimizer, _ = job(model, compression, **options)
    train(wrapper, optimizer, range(8))
    plain = torch.optim.SGD(alone.parameters(), lr=0.05, momentum=0.9)
    for step in range(8):
        plain.zero_grad()
        (sum(alone(noise(rank, step, 8, 6)).square().mean() for rank in range(size)) / size).backward()
        plain.step()
    assert torch.equal(hvd.broadcast(flat(model.parameters()), 0), flat(model.parameters()))
    torch.testing.assert_close(flat(model.parameters()), flat(alone.parameters()), rtol=tolerance,
                               atol=tolerance)


@pytest.mark.parametrize("compression", ["none", "topk", "powersgd", "onebit"])
def test_what_is_held_back_is_saved(compression):
    straight, stopped, resumed = (net(6, 20, 3) for _ in range(3))
    train(*job(straight, compression)[:2], range(8))
    first, second = job(stopped, compression), job(resumed, compression)
    train(*first[:2], range(4))
    for mine, saved in zip((resumed, second[1], second[2]), (stopped, first[1], first[2])):
        mine.load_state_dict(saved.state_dict())
    train(*second[:2], range(4, 8))
    assert torch.equal(flat(straight.parameters()), flat(resumed.parameters()))


@pytest.mark.parametrize("compression,match", [
    ("dgc", "compressor=dgc takes momentum or weight decay over.*weir.torch.compress"),
    ({"compressor": "topk", "overrides": {"0.*": {"compressor": "dgc"}}}, "compressor.0.*.=dgc"),
    ({"compressor": "topk", "momentum": "nesterov"}, "momentum=nesterov"),
    ({"compressor": "topk", "weight_decay": 0.1}, "weight_decay=0.1")])
def test_what_needs_the_optimizer_is_refused(compression, match):
    wrapper = torch.nn.parallel.DistributedDataParallel(net(6, 8, 3))
    with pytest.raises(ValueError, match=match):
        hvd.HookState(wrapper, compression)
