"""route=... of compressed tensors: the route does not change the training."""

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights

ROUTES = ["allgather", "split", "hierarchical", "push_pull"]
ALWAYS = {"min_elements": 0, "policy": "always"}
COMPRESSORS = {"dgc": hvd.Compression.dgc(density=0.1, **ALWAYS),
               "topk": hvd.Compression.topk(k=0.1, ef="vanilla", **ALWAYS)}


@pytest.fixture
def hosts(size, monkeypatch):
    """Makes four ranks two on each of two hosts, and makes it an error if a route is not taken."""
    if size != 4:
        yield 1
        return
    with monkeypatch.context() as launcher:
        launcher.setenv("WEIR_LAUNCHER_LOCAL_RANK", str(hvd.rank() % 2))
        launcher.setenv("WEIR_LAUNCHER_LOCAL_SIZE", "2")
        launcher.setenv("WEIR_STRICT", "1")
        hvd.shutdown()
        hvd.init()
        yield hvd.cross_size()
    hvd.shutdown()
    hvd.init()


def trained(rank, compressor, route):
    """The network after some steps on one batch of each rank, and all ranks' losses on the way."""
    net = model()
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5 if compressor == "dgc" else 0.0),
        net.named_parameters(), {**COMPRESSORS[compressor], "route": route})
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = loss_of(net, 0, rank)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # Over all ranks: a host's first one sends for the others.
    wire, dense = hvd.allreduce(torch.tensor([optimizer.step_report.wire_bytes,
                                              optimizer.step_report.dense_bytes]), op=hvd.Sum)
    assert 0 < wire < dense / 2
    return net, hvd.allreduce(torch.tensor(losses))


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("route", ROUTES)
def test_it_trains_and_replicas_stay_equal(rank, hosts, route, compressor):
    net, losses = trained(rank, compressor, route)
    assert losses[-1] < 0.8 * losses[0]
    assert_replicas_are_equal(net)


@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_a_split_exchange_has_the_bits_of_a_gathered_one(rank, compressor):
    gathered, split = (trained(rank, compressor, route)[0] for route in ("allgather", "split"))
    assert torch.equal(weights(split), weights(gathered))


@pytest.mark.parametrize("compressor", COMPRESSORS)
def test_hosts_compress_the_mean_of_their_ranks(rank, size, hosts, compressor):
    gathered, by_hosts = (trained(rank, compressor, route)[0]
                          for route in ("allgather", "hierarchical"))
    # If all ranks share a host there is none to compress for, and they gather.
    assert torch.equal(weights(by_hosts), weights(gathered)) == (hosts == 1)
    assert hosts == (2 if size == 4 else 1)
