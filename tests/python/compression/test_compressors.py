"""Every compressor by its dictionary, and momentum beside it."""

import numpy as np
import pytest
import torch

import weir.torch as hvd

from training import loss_of, model, weights

SMALL = {"min_elements": 0}
SELECTION = {"k": 0.3, "values": "fp32", "ef": "vanilla", **SMALL}


def trained(rank, /, sgd_momentum=0.0, steps=12, **compression):
    """The weights that SGD comes to, and the losses on the way."""
    net = model()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.01, momentum=sgd_momentum), net.named_parameters(),
        compression)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(net, step % 2, rank)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return weights(net), losses


@pytest.mark.parametrize("compression", [
    {"compressor": "topk", **SELECTION},
    {"compressor": "randomk", **SELECTION},
    {"compressor": "randomk", "k": 0.5, "unbiased": True, **SMALL},
    {"compressor": "threshold", "threshold": 0.01, "max_density": 1.0, "ef": "vanilla", **SMALL},
    {"compressor": "dgc", "density": 0.1, "values": "int8", **SMALL},
    {"compressor": "dgc", "density": 0.1, "values": "int4", **SMALL},
    {"compressor": "dgc", "density": 0.1, "values": "int2", **SMALL},
    {"compressor": "topk", **SELECTION, "values": "int2"},
    {"compressor": "onebit", "scaling": True, "ef": "vanilla", **SMALL},
    {"compressor": "dgc", "density": 0.1, "route": "push_pull", "partition_bytes": 64, **SMALL},
    {"compressor": "onebit", "scaling": True, "ef": "vanilla", "route": "push_pull", **SMALL},
    {"compressor": "dense", "route": "push_pull", "partition_bytes": 8},
    {"compressor": "dithering", "k": 15, **SMALL},
    {"compressor": "dithering", "k": 8, "partition": "natural", "normalize": "l2", **SMALL},
    {"compressor": "terngrad", **SMALL},
    {"compressor": "quant3", "ef": "vanilla", **SMALL},
    {"compressor": "int8", **SMALL},
    {"compressor": "powersgd", "rank": 1, **SMALL},
    {"compressor": "powersgd", "rank": 1, "ef": "none", "warm_start": False, **SMALL},
    {"compressor": "signum"},
], ids=lambda options: "-".join(str(value) for value in options.values()))
def test_trains_and_keeps_the_ranks_alike(rank, size, compression):
    found, losses = trained(rank, steps=40, **compression)
    everybody = hvd.allgather(found.flatten()[None])
    assert torch.equal(everybody, everybody[:1].expand(size, -1))
    before = hvd.allreduce(torch.tensor(losses[:2])).mean()
    after = hvd.allreduce(torch.tensor(losses[-2:])).mean()
    assert after < before


@pytest.mark.parametrize("compression", [
    {"compressor": "topk", "momentum": "nesterov", **SELECTION},
    {"compressor": "onebit", "momentum": "nesterov", **SMALL},
    {"compressor": "signum"}], ids=lambda options: options["compressor"])
def test_the_momentum_of_sgd_moves_into_the_compressor(rank, compression):
    taken, _ = trained(rank, sgd_momentum=0.75, **compression)
    given, _ = trained(rank, momentum_mu=0.75, **compression)
    assert torch.equal(taken, given)
    without = {key: value for key, value in compression.items() if key != "momentum"}
    if without != compression:
        behind, _ = trained(rank, sgd_momentum=0.75, **without)
        assert not torch.equal(taken, behind)


@pytest.mark.parametrize("arguments", [{"op": hvd.Sum}, {"gradient_predivide_factor": 4.0}], ids=str)
def test_factors_are_summed_and_divided_as_gradients_are(rank, size, arguments):
    compression = hvd.Compression.powersgd(2, **SMALL)
    share = 1 / size if "op" in arguments else 1.0
    ends = []
    for rate, given in ((0.1, {}), (0.1 * share, arguments)):
        net = model()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=rate),
                                             net.named_parameters(), compression, **given)
        for step in range(4):
            optimizer.zero_grad()
            loss_of(net, step, rank).backward()
            optimizer.step()
        ends.append(weights(net))
    torch.testing.assert_close(ends[1], ends[0])


def test_low_bit_values_are_not_divided():
    net = model()
    with pytest.raises(ValueError, match='"route" = "split" divides entries.*"int2"'):
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(net.parameters(), lr=0.1), net.named_parameters(),
            hvd.Compression.dgc(density=0.1, values="int2", route="split", **SMALL))
        loss_of(net, 0, 0).backward()
        optimizer.step()


def test_momentum_is_given_once():
    net = model()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for options in ({"compressor": "topk", "momentum": "nesterov", "momentum_mu": 0.9},
                    {"compressor": "signum", "momentum_mu": 0.9}):
        with pytest.raises(ValueError, match="give it once"):
            hvd.DistributedOptimizer(sgd, net.named_parameters(), options)


def test_the_prefix_of_byteps_means_nothing(rank):
    plain = {"compressor": "dgc", "density": 0.1, "values": "fp32", **SMALL}
    prefixed = {"byteps_" + key: value for key, value in plain.items()}
    assert torch.equal(trained(rank, sgd_momentum=0.75, **plain)[0],
                       trained(rank, sgd_momentum=0.75, **prefixed)[0])
    with pytest.raises(ValueError, match="twice"):
        trained(rank, **plain, byteps_density=0.2)


@pytest.mark.parametrize("compression", [{"compressor": "topk", "momentum": "nesterov", **SELECTION},
                                         {"compressor": "signum"}])
def test_a_changed_momentum_is_followed(rank, compression):
    def trained_from(first):
        net = model()
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(net.parameters(), lr=0.01, momentum=first), net.named_parameters(),
            compression)
        optimizer.param_groups[0]["momentum"] = 0.9
        for step in range(3):
            optimizer.zero_grad()
            loss_of(net, step, rank).backward()
            optimizer.step()
        return weights(net)
    assert torch.equal(trained_from(0.5), trained_from(0.9))


def test_numbers_may_be_numpys(rank):
    def losses(**compression):
        return trained(rank, **compression, **SMALL)[1]

    for given, plain in ((np.float64(0.3), 0.3), (np.float32(0.25), 0.25)):
        assert losses(compressor="topk", density=given) == losses(compressor="topk", density=plain)
    sparsity = list(1 - 0.25 ** np.arange(1, 3))
    assert losses(compressor="dgc", sparsity=sparsity, warmup_steps=4) == \
        losses(compressor="dgc", sparsity=[0.75, 0.9375], warmup_steps=4)
