"""look_ahead: gradients at the weights' coming position."""

import io

import numpy as np
import pytest
import torch

import weir.torch as hvd

from adam_reference import AdamReference
from dgc_reference import Reference
from training import assert_replicas_are_equal, loss_of, model, weights

EXACT = {"density": 0.02, "min_elements": 0, "values": "fp32", "policy": "always"}
SHAPE = (64, 32)


def target(rank):
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(rank))


def loss_at(parameter, rank):
    """Each rank draws the weights to a place of its own, so that gradients depend on the weights."""
    return ((parameter - target(rank)) ** 2).sum() / 2


def shifted(w, v, factor):
    """Returns the rank's shift, in the order of operations of torch's sub_(v, alpha=factor)."""
    return torch.from_numpy(w).sub(torch.from_numpy(v), alpha=factor).numpy()


@pytest.mark.parametrize("c", [0.5, 1.0])
def test_sgd_follows_the_reference_step_by_step(rank, size, c):
    parameter = torch.nn.Parameter(torch.zeros(SHAPE))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD([parameter], lr=0.05, momentum=0.9),
        compression=hvd.Compression.dgc(look_ahead=c, **EXACT))
    reference = Reference(parameter.numel(), size, 0.02, momentum=0.9, nesterov=False, decay=0.0)
    for step in range(20):
        before = parameter.detach().clone()
        flat = before.flatten().numpy()
        gradients = [shifted(flat, reference.v[r], 0.05 * c / size) - target(r).flatten().numpy()
                     for r in range(size)]
        optimizer.zero_grad()
        with optimizer.looking_ahead():
            loss_at(parameter, rank).backward()
        assert torch.equal(parameter.detach(), before)
        optimizer.synchronize()
        expected = reference.step(gradients, flat)
        np.testing.assert_allclose(parameter.grad.flatten().numpy(), expected, rtol=0, atol=2e-6)
        with optimizer.skip_synchronize():
            optimizer.step()
        assert_replicas_are_equal(torch.nn.ParameterList([parameter]))
    assert max(np.abs(v).max() for v in reference.v) > 0.1  # There was something to look at.


def test_adam_s_steps_have_the_rate_in_them(rank, size):
    parameter = torch.nn.Parameter(torch.zeros(SHAPE))
    optimizer = hvd.DistributedOptimizer(
        torch.optim.AdamW([parameter], lr=0.05, weight_decay=0.0),
        compression=hvd.Compression.dgc(look_ahead=1, momentum="adam", **EXACT))
    reference = AdamReference(parameter.numel(), size, 0.02)
    for step in range(15):
        flat = parameter.detach().flatten().numpy().copy()
        gradients = [shifted(flat, reference.v[r], 1.0 / size) - target(r).flatten().numpy()
                     for r in range(size)]
        optimizer.zero_grad()
        with optimizer.looking_ahead():
            loss_at(parameter, rank).backward()
        optimizer.step()
        expected = flat - reference.step(gradients, 0.05)
        np.testing.assert_allclose(parameter.detach().flatten().numpy(), expected, rtol=0, atol=2e-6)


def made(net, **options):
    given = {"density": 0.05, "min_elements": 100, "look_ahead": 1, **options}
    return hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3),
        net.named_parameters(), hvd.Compression.dgc(**given))


def train(net, optimizer, steps, rank):
    for step in steps:
        optimizer.zero_grad()
        with optimizer.looking_ahead():
            loss_of(net, step, rank).backward()
        optimizer.step()
    return net


@pytest.mark.parametrize("options", [
    {}, {"weight_decay_form": "local"}, {"rampup_begin_step": 3, "warmup_steps": 4},
    {"route": "push_pull", "partition_bytes": 1000}, {"selection": "bucket"}], ids=str)
def test_it_trains_and_replicas_stay_equal(rank, options):
    net = model()
    optimizer = made(net, **options)
    first = loss_of(net, 0, rank).item()
    train(net, optimizer, [0] * 30, rank)
    assert loss_of(net, 0, rank).item() < 0.8 * first
    assert_replicas_are_equal(net)


def test_weights_are_where_they_were_behind_it_and_behind_an_exception(rank):
    net = model()
    optimizer = made(net)
    train(net, optimizer, range(3), rank)
    before = weights(net)
    with pytest.raises(RuntimeError, match="no batch"):
        with optimizer.looking_ahead():
            assert not torch.equal(weights(net), before)
            raise RuntimeError("no batch")
    assert torch.equal(weights(net), before)
    train(net, optimizer, range(3, 5), rank)


def test_local_weight_decay_is_that_of_the_weights_themselves(rank, size):
    """Without look-ahead in the gradients, only the decay could tell."""
    found = []
    for ahead in (0, 1):
        torch.manual_seed(1)
        parameter = torch.nn.Parameter(torch.randn(SHAPE))
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD([parameter], lr=0.1), compression=hvd.Compression.dgc(
                look_ahead=ahead, weight_decay=0.1, weight_decay_form="local", **EXACT))
        for step in range(5):
            optimizer.zero_grad()
            with optimizer.looking_ahead():
                parameter.backward(target(10 * step + rank))
            optimizer.step()
        found.append(parameter.detach().clone())
    assert torch.equal(*found)


def test_without_the_option_nothing_happens(rank):
    net, plain = model(), model()
    train(net, made(net, look_ahead=0), range(4), rank)
    optimizer = made(plain, look_ahead=0)
    for step in range(4):
        optimizer.zero_grad()
        loss_of(plain, step, rank).backward()
        optimizer.step()
    assert torch.equal(weights(net), weights(plain))


def test_resumed_training_is_that_of_no_stop_bit_for_bit(rank):
    net = model()
    optimizer = made(net)
    train(net, optimizer, range(5), rank)
    file = io.BytesIO()
    torch.save((net.state_dict(), optimizer.state_dict()), file)
    train(net, optimizer, range(5, 9), rank)
    file.seek(0)
    saved = torch.load(file)
    again = model(seed=99)
    again.load_state_dict(saved[0])
    resumed = made(again)
    resumed.load_state_dict(saved[1])
    train(again, resumed, range(5, 9), rank)
    assert torch.equal(weights(again), weights(net))


def test_gradients_that_were_taken_elsewhere_are_refused(rank):
    net = model()
    optimizer = made(net)
    train(net, optimizer, range(2), rank)
    before = weights(net)
    optimizer.zero_grad()
    with pytest.raises(ValueError, match="outside of `with optimizer.looking_ahead"):
        loss_of(net, 2, rank).backward()
    train(net, optimizer, [2], rank)  # Nothing was sent, so nothing is lost.
    assert not torch.equal(weights(net), before)
    assert_replicas_are_equal(net)


def test_it_does_not_begin_in_the_middle_of_a_step(rank):
    net = model()
    optimizer = made(net)
    with optimizer.looking_ahead():
        loss_of(net, 0, rank).backward()
    with pytest.raises(ValueError, match="in the middle of a step"):
        with optimizer.looking_ahead():
            pass
    optimizer.step()


@pytest.mark.parametrize("options, match", [
    ({"look_ahead": 1.5}, "a number from 0 to 1"), ({"look_ahead": -1}, "a number from 0 to 1"),
    ({"look_ahead": "far"}, "a number from 0 to 1"),
    ({"route": "hierarchical"}, "the first rank of a host keeps it"),
    ({"compressor": "topk", "k": 0.1}, "look_ahead is an option of dgc")], ids=str)
def test_what_cannot_be_is_refused(options, match):
    given = {"compressor": "dgc", "look_ahead": 1, **options}
    with pytest.raises(ValueError, match=match):
        hvd.DistributedOptimizer(torch.optim.SGD(model().parameters(), lr=0.1), compression=given)
