"""Every compressor and route through DistributedDataParallel: the bits of DistributedOptimizer."""

import pytest
import torch

import weir.torch as hvd

from by_ddp import sgd
from compared import flat, net, noise

COMPRESSIONS = {
    **{name: {"compressor": name} for name in ("dense", "fp16", "bf16", "int8", "quant3", "powersgd", "signum")},
    "onebit": {"compressor": "onebit", "scaling": True, "ef": "vanilla"},
    "topk": {"compressor": "topk", "k": 0.1, "ef": "vanilla"},
    "topk with momentum": {"compressor": "topk", "k": 0.1, "ef": "vanilla", "momentum": "nesterov"},
    "threshold": {"compressor": "threshold", "threshold": 0.01, "ef": "vanilla"},
    "dgc": {"compressor": "dgc", "density": 0.1, "min_elements": 1},
    "dgc, clipped": {"compressor": "dgc", "density": 0.1, "min_elements": 1, "clip_norm": 0.1},
    "dgc, warm-up": {"compressor": "dgc", "density": 0.1, "min_elements": 1, "warmup_steps": 4},
    "dgc, decay": {"compressor": "dgc", "density": 0.1, "min_elements": 1, "weight_decay": 0.1,
                   "weight_decay_form": "local"},
    "dgc, by name": {"compressor": "dgc", "density": 0.1, "min_elements": 1,
                     "overrides": {"*.bias": {"compressor": "dense"}, "0.*": {"compressor": "topk", "k": 0.2}}},
    **{f"dgc, {route}": {"compressor": "dgc", "density": 0.1, "min_elements": 1, "route": route}
       for route in ("split", "push_pull", "hierarchical")},
    "int8, push_pull": {"compressor": "int8", "route": "push_pull"},
}
RANDOM = {name: {"compressor": name} for name in ("dithering", "randomk", "terngrad")}


def trained(compression, through_ddp, steps=10):
    model = net(6, 20, 20, 3)
    optimizer = sgd(model)
    if through_ddp:
        called = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True,
                                                           bucket_cap_mb=0.0005)
        optimizer = hvd.compress(called, optimizer, compression)
    else:
        called, optimizer = model, hvd.DistributedOptimizer(optimizer, model.named_parameters(), compression)
    for step in range(steps):
        optimizer.zero_grad()
        called(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
        optimizer.step()
    ours = flat(model.parameters())
    assert torch.equal(hvd.broadcast(ours, 0), ours)
    assert ours.isfinite().all()
    return ours


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", COMPRESSIONS)
def test_the_bits_are_those_of_distributed_optimizer(name):
    assert torch.equal(trained(COMPRESSIONS[name], True), trained(COMPRESSIONS[name], False))


# Random numbers are those of the group's name.
@pytest.mark.parametrize("name", RANDOM)
def test_random_compressors_keep_replicas_equal(name):
    trained(RANDOM[name], True)
