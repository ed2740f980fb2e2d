"""WEIR_COMPRESSION, the compression of optimizers that name none: every compressor by its name, and
every mode by its option."""

import contextlib
import pathlib
import re

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "reference" / "compression.md"
# A heading and a table of options for each.
SECTIONS = re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def options_for(name, table):
    """So that small tensors are compressed, and so that it shows."""
    wanted = {"compressor": name, "min_elements": "0", "policy": "always", "density": "0.1",
              "threshold": "0.01"}
    return {key: value for key, value in wanted.items()
            if key == "compressor" or f"| `{key}` |" in table}


def trained(rank, *compression, make=torch.optim.SGD, ahead=False):
    net = model()
    optimizer = hvd.DistributedOptimizer(make(net.parameters(), lr=0.05), net.named_parameters(),
                                         *compression)
    for step in range(3):
        optimizer.zero_grad()
        with optimizer.looking_ahead() if ahead else contextlib.nullcontext():
            loss_of(net, step, rank).backward()
        optimizer.step()
    assert_replicas_are_equal(net)
    return weights(net), optimizer.step_report.wire_bytes


@pytest.fixture
def trained_with(rank, monkeypatch):
    """Training in a job with these options, by an optimizer that names none. Leaves one without."""
    def train(options, **how):
        with monkeypatch.context() as environment:
            environment.setenv("WEIR_COMPRESSION",
                               ",".join("=".join(pair) for pair in options.items()))
            hvd.shutdown()
            hvd.init()
            found = trained(rank, **how)
        hvd.shutdown()
        hvd.init()
        return found
    return train


@pytest.mark.parametrize("name, table", SECTIONS, ids=[name for name, _ in SECTIONS])
def test_it_is_what_naming_the_compressor_is(rank, trained_with, name, table):
    options = options_for(name, table)
    given, given_bytes = trained_with(options)
    named, named_bytes = trained(rank, options)
    dense, dense_bytes = trained(rank)
    assert torch.equal(given, named) and given_bytes == named_bytes
    assert torch.equal(given, dense) == (name == "dense")
    assert given_bytes == dense_bytes if name == "dense" else 0 < given_bytes < dense_bytes


COMPRESSED = {"min_elements": "0", "policy": "always", "density": "0.1"}
DGC = {"compressor": "dgc", **COMPRESSED}
TOPK = {"compressor": "topk", **COMPRESSED}
# The options to which each option is added.
MODES = [
    (DGC, {"values": "int8"}), (DGC, {"values": "int4"}), (DGC, {"values": "int2"}),
    (DGC, {"selection": "bucket"}),
    (DGC, {"density": "auto", "steps": "50"}),
    ({**DGC, "momentum": "vanilla"}, {"gain_compensation": "true"}),
    (DGC, {"look_ahead": "1"}),
    (DGC, {"momentum": "adam"}),
    (DGC, {"momentum": "nesterov"}),
    (TOPK, {"momentum": "nesterov", "momentum_mu": "0.9"}),
    (TOPK, {"ef": "vanilla"}),
    ({**DGC, "route": "hierarchical"}, {"host_values": "fp16"}),
]


@pytest.mark.parametrize("without, option", MODES,
                         ids=[f"{a['compressor']} {b}" for a, b in MODES])
def test_it_turns_on_a_mode(rank, trained_with, without, option):
    # Adam's moments take the place of a wrapped Adam's; weights are shifted inside a `with` alone.
    how = {"make": torch.optim.Adam if option.get("momentum") == "adam" else torch.optim.SGD}
    given, _ = trained_with({**without, **option}, ahead="look_ahead" in option, **how)
    named, _ = trained(rank, {**without, **option}, ahead="look_ahead" in option, **how)
    other, _ = trained(rank, without, **how)
    assert torch.equal(given, named)
    # These ranks share a host, and on a single one no route goes by hosts (tests/launcher has two).
    assert torch.equal(given, other) == ("host_values" in option)


def test_every_compressor_is_documented_here():
    assert {"bf16", "dense", "dgc", "dithering", "fp16", "int8", "onebit", "powersgd", "quant3",
            "randomk", "signum", "terngrad", "threshold", "topk"} <= {name for name, _ in SECTIONS}
