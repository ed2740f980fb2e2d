"""DistributedOptimizer's arguments, one by one and together with compression."""

import numpy as np
import pytest
import torch

import weir.torch as hvd

from dgc_reference import Reference
from training import assert_replicas_are_equal, loss_of, model, weights

EXACT = {"density": 0.05, "min_elements": 0, "values": "fp32", "policy": "always"}


def gradient_of(step, rank, shape=(64, 32)):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1000 * step + rank))


def assert_follows(parameter, reference, gradients):
    """Asserts that synchronize() left the reference's update of these gradients in .grad, bit for bit."""
    expected = reference.step([g.flatten().numpy() for g in gradients],
                              np.zeros(parameter.numel(), np.float32))
    assert torch.equal(parameter.grad.flatten(), torch.from_numpy(expected))


def test_the_number_of_backward_passes_may_change(rank, size):
    net, alone = model(), model()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1))
    reference = torch.optim.SGD(alone.parameters(), lr=0.1)
    for step, passes in enumerate([1, 2, 3, 1]):
        optimizer.set_backward_passes_per_step(passes)
        optimizer.zero_grad()
        reference.zero_grad()
        for part in range(passes):
            loss_of(net, 10 * step + part, rank).backward()
            (sum(loss_of(alone, 10 * step + part, r) for r in range(size)) / size).backward()
        optimizer.step()
        reference.step()
    torch.testing.assert_close(weights(net), weights(alone), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("as_list", [True, False])
def test_groups_change_nothing(rank, as_list):
    """The engine plans its buckets by itself."""
    found = []
    for grouped in (False, True):
        net = model()
        parameters = list(net.parameters())
        groups = [parameters[:2], parameters[2:]] if as_list else 2
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1),
                                             groups=groups if grouped else None)
        loss_of(net, 0, rank).backward()
        optimizer.step()
        found.append(weights(net))
    assert torch.equal(*found)


def test_the_number_of_groups_is_deprecated():
    with pytest.warns(DeprecationWarning, match="`num_groups` has been replaced by `groups`"):
        hvd.DistributedOptimizer(torch.optim.SGD(model().parameters(), lr=0.1), num_groups=2)


def test_dgc_compresses_the_sum_of_the_backward_passes(rank, size):
    parameter = torch.nn.Parameter(torch.zeros(64, 32))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1, momentum=0.9),
                                         backward_passes_per_step=2,
                                         compression=hvd.Compression.dgc(**EXACT))
    reference = Reference(parameter.numel(), size, 0.05, momentum=0.9, nesterov=False, decay=0.0)
    for step in range(5):
        optimizer.zero_grad()
        for part in range(2):
            parameter.backward(gradient_of(2 * step + part, rank))
        optimizer.synchronize()
        assert_follows(parameter, reference,
                       [gradient_of(2 * step, r) + gradient_of(2 * step + 1, r)
                        for r in range(size)])
        with optimizer.skip_synchronize():
            optimizer.step()


@pytest.mark.parametrize("make", [lambda p: torch.optim.Adam(p, lr=0.01),
                                  lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1)])
def test_dgc_accumulates_without_momentum_for_other_optimizers(rank, size, make):
    """The wrapped optimizer's use of the update is its own."""
    parameter = torch.nn.Parameter(torch.zeros(64, 32))
    alone = torch.nn.Parameter(torch.zeros(64, 32))
    optimizer = hvd.DistributedOptimizer(make([parameter]),
                                         compression=hvd.Compression.dgc(**EXACT))
    plain = make([alone])
    reference = Reference(parameter.numel(), size, 0.05, momentum=0.0, nesterov=False, decay=0.0)
    for step in range(5):
        optimizer.zero_grad()
        parameter.backward(gradient_of(step, rank))
        optimizer.synchronize()
        assert_follows(parameter, reference, [gradient_of(step, r) for r in range(size)])
        alone.grad = parameter.grad.clone()
        with optimizer.skip_synchronize():
            optimizer.step()
        plain.step()
    assert torch.equal(parameter.detach(), alone.detach())


def test_dgc_takes_parameters_that_are_added_later(rank, size):
    first = torch.nn.Parameter(torch.zeros(64, 32))
    later = torch.nn.Parameter(torch.zeros(16, 8))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([first], lr=0.1, momentum=0.9),
                                         compression=hvd.Compression.dgc(**EXACT))
    references = {p: Reference(p.numel(), size, 0.05, momentum=0.9, nesterov=False, decay=0.0)
                  for p in (first, later)}
    for step in range(4):
        if step == 2:
            optimizer.add_param_group({"params": [later], "momentum": 0.9})
        optimizer.zero_grad()
        present = [first, later] if step >= 2 else [first]
        for parameter in present:
            parameter.backward(gradient_of(step, rank, parameter.shape))
        optimizer.synchronize()
        for parameter in present:
            assert_follows(parameter, references[parameter],
                           [gradient_of(step, r, parameter.shape) for r in range(size)])
        with optimizer.skip_synchronize():
            optimizer.step()


@pytest.mark.parametrize("op, combine", [(hvd.Min, torch.amin), (hvd.Max, torch.amax),
                                         (hvd.Product, torch.prod)])
def test_gradients_may_be_combined_otherwise(rank, size, op, combine):
    parameter = torch.nn.Parameter(torch.zeros(5))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0), op=op)
    parameter.backward(gradient_of(0, rank, (5,)))
    optimizer.synchronize()
    expected = combine(torch.stack([gradient_of(0, r, (5,)) for r in range(size)]), dim=0)
    torch.testing.assert_close(parameter.grad, expected)


def test_the_environment_gives_the_default_compression(rank, size, monkeypatch):
    monkeypatch.setenv("WEIR_COMPRESSION",
                       "compressor=dgc,density=0.05,min_elements=0,values=fp32,policy=always")
    hvd.shutdown()
    hvd.init()
    try:
        parameter = torch.nn.Parameter(torch.zeros(64, 32))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1, momentum=0.9))
        reference = Reference(parameter.numel(), size, 0.05, momentum=0.9, nesterov=False,
                              decay=0.0)
        parameter.backward(gradient_of(0, rank))
        optimizer.synchronize()
        assert_follows(parameter, reference, [gradient_of(0, r) for r in range(size)])
        with optimizer.skip_synchronize():
            optimizer.step()
        assert_replicas_are_equal(torch.nn.ParameterList([parameter]))
        del optimizer
    finally:
        monkeypatch.undo()
        hvd.shutdown()
        hvd.init()


def test_compression_may_be_the_text_of_its_options(size):
    def sent(compression):
        parameter = torch.nn.Parameter(torch.zeros(64, 32))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1),
                                             compression=compression)
        return optimizer._weir_options

    assert sent("dgc") == {"compressor": "dgc"}
    assert sent("compressor=dgc,sparsity=[0.5,0.9],warmup_steps=4") == \
        {"compressor": "dgc", "sparsity": "[0.5,0.9]", "warmup_steps": "4"}
    with pytest.raises(ValueError, match="write compressor=dgc"):
        sent("dgc,density=0.01")
    with pytest.raises(ValueError, match="known are"):
        sent("zip")


@pytest.mark.parametrize("key", ["compressor", "byteps_compressor", "byteps_compressor_type"])
def test_a_named_compressor_is_no_other(key):
    for named in (hvd.Compression.dgc, hvd.Compression.topk, hvd.Compression.powersgd):
        with pytest.raises(ValueError, match=f"Compression.{named.__name__} got {key}='onebit'"):
            named(**{key: "onebit"})


def test_an_error_about_the_default_compression_says_where_that_is_from(monkeypatch):
    monkeypatch.setenv("WEIR_COMPRESSION", "compressor=dgc,momentum_mu=0.9")
    hvd.shutdown()
    hvd.init()
    try:
        parameter = torch.nn.Parameter(torch.zeros(4))
        with pytest.raises(ValueError, match="WEIR_COMPRESSION .*: momentum is given to the optim"):
            hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1, momentum=0.9))
    finally:
        monkeypatch.undo()
        hvd.shutdown()
        hvd.init()


def test_a_compressor_that_has_no_name_of_its_own_is_explained():
    with pytest.raises(AttributeError, match='as in compression={"compressor": "onebit"}'):
        hvd.Compression.onebit
    assert not hasattr(hvd.Compression, "__wrapped__")


def test_strict_settings_refuse_a_compression_that_the_program_overrides(monkeypatch):
    def wrapped():
        parameter = torch.nn.Parameter(torch.zeros(4))
        return hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1),
                                        compression=hvd.Compression.fp16)

    monkeypatch.setenv("WEIR_COMPRESSION", "dgc")
    for strict in ("0", "1"):
        monkeypatch.setenv("WEIR_STRICT", strict)
        hvd.shutdown()
        hvd.init()
        try:
            if strict == "0":
                wrapped()
                continue
            with pytest.raises(ValueError, match="strict settings .* compressor=dgc, has no effect on .Distributed"):
                wrapped()
        finally:
            if strict == "1":
                monkeypatch.undo()
                hvd.shutdown()
                hvd.init()


@pytest.mark.filterwarnings("ignore:compression options for tensors")
def test_strict_settings_refuse_what_has_no_effect(monkeypatch):
    def wrapped(**arguments):
        parameter = torch.nn.Parameter(torch.zeros(4))
        return hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1), **arguments)

    without_effect = [
        {"groups": 2}, {"groups": [[]]},
        {"compression": hvd.Compression.dgc(density=0.1), "gradient_predivide_factor": 2.0},
        {"compression": {"compressor": "fp16", "compressor[fc*]": "dense"}}]
    for arguments in without_effect:
        wrapped(**arguments)
    monkeypatch.setenv("WEIR_STRICT", "1")
    hvd.shutdown()
    hvd.init()
    try:
        for arguments in without_effect:
            with pytest.raises(ValueError, match="strict settings .* no effect"):
                wrapped(**arguments)
        wrapped(groups=0, num_groups=0, gradient_predivide_factor=2.0)
    finally:
        monkeypatch.undo()
        hvd.shutdown()
        hvd.init()


@pytest.mark.parametrize("compression", [
    hvd.Compression.none, hvd.Compression.dgc(density=0.5, min_elements=0)])
def test_parameters_that_are_thawed_later_are_exchanged(rank, size, compression):
    frozen = torch.nn.Parameter(torch.zeros(20, 2), requires_grad=False)
    weight = torch.nn.Parameter(torch.zeros(20, 2))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([frozen, weight], lr=0.1, momentum=0.9), compression=compression)
    for step in range(6):
        frozen.requires_grad_(step >= 2)
        optimizer.zero_grad()
        gradient = gradient_of(step, rank, (20, 2))
        ((frozen + weight) * gradient).sum().backward()
        optimizer.step()
    assert frozen.abs().sum() > 0
    assert_replicas_are_equal(torch.nn.ParameterList([frozen, weight]))

