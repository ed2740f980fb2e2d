"""DGCMomentumOptimizer against the same optimizer put together by hand."""

import types

import pytest
import torch

import weir.torch as hvd

from training import loss_of, model, weights


def trained(make, rank, steps=12):
    """The weights that an optimizer comes to. Its network is large enough to be compressed."""
    net = model()
    net[0] = torch.nn.Linear(12, 200)
    net[2] = torch.nn.Linear(200, 4)
    optimizer = make(net)
    for step in range(steps):
        optimizer.zero_grad()
        (30 * loss_of(net, step, rank)).backward()
        optimizer.step()
    return weights(net)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("clip", [None, 0.5, types.SimpleNamespace(clip_norm=0.5)],
                         ids=["no clip", "number", "object"])
def test_equals_what_is_put_together_by_hand(rank, size, nesterov, clip):
    short = trained(lambda net: hvd.DGCMomentumOptimizer(
        net.parameters(), 0.01, 0.8, rampup_begin_step=2, rampup_step=6, sparsity=[0.5, 0.75, 0.99],
        use_nesterov=nesterov, num_trainers=size, grad_clip=clip, weight_decay=1e-2,
        named_parameters=net.named_parameters()), rank)
    by_hand = trained(lambda net: hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.8, nesterov=nesterov,
                        weight_decay=1e-2),
        net.named_parameters(),
        {"compressor": "dgc", "rampup_begin_step": 2, "rampup_step": 6,
         "sparsity": [0.5, 0.75, 0.99], **({} if clip is None else {"clip_norm": 0.5})}), rank)
    assert torch.equal(short, by_hand)


def test_the_defaults_are_those_of_paddle(rank):
    def by_hand(net):
        return hvd.DistributedOptimizer(
            torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9),
            compression=hvd.Compression.dgc(density=0.001))

    assert torch.equal(trained(lambda net: hvd.DGCMomentumOptimizer(net.parameters(), 0.01), rank),
                       trained(by_hand, rank))


def test_arguments_that_cannot_be(size):
    with pytest.raises(ValueError, match=f"num_trainers={size + 1} in a job of {size} ranks"):
        hvd.DGCMomentumOptimizer(model().parameters(), 0.1, num_trainers=size + 1)
    with pytest.raises(ValueError, match="grad_clip='much': give a number"):
        hvd.DGCMomentumOptimizer(model().parameters(), 0.1, grad_clip="much")
    with pytest.raises(ValueError, match="sparsity"):
        hvd.DGCMomentumOptimizer(model().parameters(), 0.1, sparsity=[1.5])
