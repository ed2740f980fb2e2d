"""WEIR_COMPRESSION, the compression of optimizers that name none: every compressor by its name."""

import pathlib
import re

import pytest
import torch

import weir.torch as hvd

from test_optimizer import assert_replicas_are_equal, loss_of, model, weights

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "compression.md"
# A heading and a table of options for each.
SECTIONS = re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def options_for(name, table):
    """So that small tensors are compressed, and so that it shows."""
    wanted = {"compressor": name, "min_elements": "0", "policy": "always", "density": "0.1",
              "threshold": "0.01"}
    return {key: value for key, value in wanted.items()
            if key == "compressor" or f"| `{key}` |" in table}


def trained(rank, *compression):
    net = model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.05),
                                         net.named_parameters(), *compression)
    for step in range(3):
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()
    assert_replicas_are_equal(net)
    return weights(net), optimizer.step_report.wire_bytes


@pytest.mark.parametrize("name, table", SECTIONS, ids=[name for name, _ in SECTIONS])
def test_it_is_what_naming_the_compressor_is(rank, monkeypatch, name, table):
    options = options_for(name, table)
    with monkeypatch.context() as environment:
        environment.setenv("WEIR_COMPRESSION", ",".join("=".join(pair) for pair in options.items()))
        hvd.shutdown()
        hvd.init()
        given, given_bytes = trained(rank)
    hvd.shutdown()
    hvd.init()
    named, named_bytes = trained(rank, options)
    dense, dense_bytes = trained(rank)
    assert torch.equal(given, named) and given_bytes == named_bytes
    assert torch.equal(given, dense) == (name == "dense")
    assert given_bytes == dense_bytes if name == "dense" else 0 < given_bytes < dense_bytes


def test_every_compressor_is_documented_here():
    assert {"bf16", "dense", "dgc", "dithering", "fp16", "int8", "onebit", "powersgd", "quant3",
            "randomk", "signum", "terngrad", "threshold", "topk"} <= {name for name, _ in SECTIONS}
