"""Every configuration of the benchmark train-quality is one that Weir takes."""

import contextlib
import pathlib
import sys

import pytest
import torch

from training import assert_replicas_are_equal, loss_of, model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "benchmarks" / "python"))

from train_quality_grid import CONFIGS, STUDIES, Run  # noqa: E402
from train_quality_ranks import make_optimizer  # noqa: E402


def wide():
    """Large enough to be compressed."""
    net = model()
    net[0], net[2] = torch.nn.Linear(12, 200), torch.nn.Linear(200, 4)
    return net


@pytest.mark.filterwarnings("ignore:.*steps.*density")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_takes_steps(rank, name):
    for network in ("digits", "lstm"):  # The latter clips.
        net = wide()
        run = Run(network, name, 0.05 if CONFIGS[name].sparse else 1.0, "low", 20, seed=1)
        optimizer = make_optimizer(net, run)
        for step in range(3):
            optimizer.zero_grad()
            with contextlib.nullcontext() if CONFIGS[name].outer is not None else optimizer.looking_ahead():
                loss_of(net, step, rank).backward()
            optimizer.step()
        if CONFIGS[name].outer is not None:
            optimizer.synchronize()
        assert_replicas_are_equal(net)


def test_what_a_study_compares_with_is_in_it():
    for study in STUDIES.values():
        if any(CONFIGS[name].adam for name in study.configs):
            assert "dense-adamw" in study.configs
        if any(not CONFIGS[name].adam for name in study.configs):
            assert "dense" in study.configs
