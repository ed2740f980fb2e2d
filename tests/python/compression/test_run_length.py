"""Density and the length of a run."""

import gc

import pytest
import torch

import weir.torch as hvd

from training import loss_of, model


def density_of_a_step(rank, compression, begin=0):
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         net.named_parameters(), compression)
    for step in range(begin + 1):
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()
    return optimizer.step_report.density


@pytest.mark.parametrize("compression, density", [
    (hvd.Compression.dgc("auto", steps=1000), 0.01),
    (hvd.Compression.dgc(density="auto", steps=4 * 100 / 2), 0.05),
    (hvd.Compression.dgc("auto", steps=1_000_000), 0.001),
    (hvd.Compression.topk(density="auto", steps=500), 0.02),
    (hvd.Compression.dgc(0.5, steps=1000), 0.5),
])
def test_auto_is_the_density_that_suits_the_run(rank, compression, density):
    assert density_of_a_step(rank, compression) == density


def test_a_warm_up_ends_at_that_density(rank):
    compression = hvd.Compression.dgc("auto", steps=100, warmup_steps=2)
    assert density_of_a_step(rank, compression) == 0.25
    assert density_of_a_step(rank, compression, begin=2) == 0.1


def test_auto_needs_the_number_of_steps():
    with pytest.raises(ValueError, match='"density" = "auto" .* give "steps"'):
        hvd.DistributedOptimizer(torch.optim.SGD(model().parameters(), lr=0.1),
                                 compression=hvd.Compression.dgc("auto"))


@pytest.mark.parametrize("density, warned", [(0.001, True), (0.01, False), ("auto", False)])
def test_one_rank_warns_of_a_run_too_short_for_its_density(rank, capfd, density, warned):
    density_of_a_step(rank, hvd.Compression.dgc(density, steps=1000))
    assert capfd.readouterr().err.count("the run is short") == (1 if warned and rank == 0 else 0)


def test_one_rank_warns_of_a_run_that_was_too_short(rank, capfd):
    """If its length was not given: when the job ends, which it does for the test."""
    gc.collect()  # The optimizers of other tests.
    capfd.readouterr()
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                         compression=hvd.Compression.dgc(0.001))
    loss_of(net, 0, rank).backward()
    optimizer.step()
    hvd.shutdown()
    hvd.init()
    assert capfd.readouterr().err.count("the run was short") == (1 if rank == 0 else 0)
