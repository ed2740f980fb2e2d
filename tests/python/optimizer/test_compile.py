"""Models that torch.compile has made, under DistributedOptimizer."""

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights

pytestmark = pytest.mark.skipif(not hasattr(torch, "compile"),
                                reason="torch.compile came with PyTorch 2")


@pytest.mark.parametrize("name", ["none", "dgc"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("cross_barrier", [False, True])
@pytest.mark.filterwarnings("ignore:Using `torch.compile")  # Hooks on all modules.
def test_a_compiled_model_trains_equal_to_the_plain_one(rank, cross_barrier, backend, name):
    compression = {"none": hvd.Compression.none, "dgc": hvd.Compression.dgc(
        density=0.1, min_elements=100, values="fp32", policy="always")}[name]

    def trained(make):
        torch._dynamo.reset()
        net = model()
        forward = make(net)
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), net.named_parameters(),
            compression, cross_barrier=cross_barrier)
        for step in range(6):
            optimizer.zero_grad()
            loss_of(forward, step, rank).backward()
            optimizer.step()
        if cross_barrier:
            optimizer.synchronize()
        assert_replicas_are_equal(net)
        return weights(net)

    compiled = trained(lambda net: torch.compile(net, backend=backend))
    torch.testing.assert_close(compiled, trained(lambda net: net), rtol=1e-5, atol=1e-6)
    assert not torch.equal(compiled, weights(model()))
