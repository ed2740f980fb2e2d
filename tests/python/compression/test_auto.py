"""compression="auto": Weir chooses the form of each bucket while training goes on."""

import copy

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights

BLOCK, MOST = 20, 2000  # Steps; a busy machine makes a search long.


def train_until_chosen(net, optimizer, rank):
    """Returns the number of steps."""
    for begin in range(0, MOST, BLOCK):
        train(net, optimizer, range(begin, begin + BLOCK), rank)
        if hvd.broadcast_object("a step (median of" in hvd.explain(), 0):
            assert bool(hvd.explain()) == (rank == 0)
            return begin + BLOCK
    raise AssertionError(hvd.explain())


def train(net, optimizer, steps, rank):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()


def alone(make, steps, size):
    """Plain training on the mean loss of all ranks."""
    net = model()
    optimizer = make(net.parameters())
    for step in steps:
        optimizer.zero_grad()
        (sum(loss_of(net, step, r) for r in range(size)) / size).backward()
        optimizer.step()
    return net


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True)


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=0.01)


def distributed(net, make, compression):
    return hvd.DistributedOptimizer(make(net.parameters()), net.named_parameters(), compression)


def test_whatever_is_chosen_trains_as_without(rank, size):
    """With all entries sent, unmasked, dgc is momentum SGD, too: so is any change between the two."""
    net = model()
    whole = hvd.Compression.auto("dense", "dgc", density=1.0, momentum_masking=False, values="fp32",
                                 min_elements=0)
    optimizer = distributed(net, sgd, whole)
    steps = train_until_chosen(net, optimizer, rank)
    assert_replicas_are_equal(net)
    torch.testing.assert_close(weights(net), weights(alone(sgd, range(steps), size)), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("compression", [
    "auto", "auto(dense,fp16)", {"compressor": "auto"}, hvd.Compression.auto(),
    hvd.Compression.auto("fp16", "dense")])
def test_an_adam_travels_dense_or_as_fp16(compression, rank, size):
    net = model()
    optimizer = distributed(net, adam, compression)
    train(net, optimizer, range(BLOCK), rank)
    assert_replicas_are_equal(net)
    torch.testing.assert_close(weights(net), weights(alone(adam, range(BLOCK), size)), rtol=0.05, atol=0.02)
    train_until_chosen(net, optimizer, rank)
    if rank == 0:
        assert "fp16: " in hvd.explain() and "dense: " in hvd.explain() and "dgc" not in hvd.explain()


@pytest.mark.parametrize("choices", [("dense", "int8"), ("dense", "fp16", "int8")])
def test_int8_is_a_choice_of_every_optimizer(choices, rank, size):
    net = model()
    optimizer = distributed(net, adam, hvd.Compression.auto(*choices))
    train(net, optimizer, range(BLOCK), rank)
    assert_replicas_are_equal(net)
    torch.testing.assert_close(weights(net), weights(alone(adam, range(BLOCK), size)), rtol=0.1, atol=0.05)
    train_until_chosen(net, optimizer, rank)
    assert all(f"  {name}: " in hvd.explain() for name in choices) or rank != 0


def test_push_pull_is_a_choice_beside_dgc(rank):
    net = model()
    optimizer = distributed(net, sgd, {"compressor": "auto", "choices": "dense,dgc,push_pull", "min_elements": 0})
    train(net, optimizer, range(BLOCK), rank)
    train_until_chosen(net, optimizer, rank)
    assert_replicas_are_equal(net)


def test_an_sgd_with_momentum_has_dgc_among_its_choices(rank):
    net = model()
    optimizer = distributed(net, sgd, "auto")
    train_until_chosen(net, optimizer, rank)
    if rank == 0:
        assert "  dgc: " in hvd.explain()
    assert_replicas_are_equal(net)


@pytest.mark.parametrize("name", ["dense", "fp16", "dgc"])
def test_one_choice_is_that_compressor(name, rank):
    nets = [model(), model()]
    optimizers = [distributed(net, sgd, compression)
                  for net, compression in zip(nets, [hvd.Compression.auto(name), name])]
    for net, optimizer in zip(nets, optimizers):
        train(net, optimizer, range(5), rank)
    assert torch.equal(weights(nets[0]), weights(nets[1]))
    assert ("as told" in hvd.explain()) == (rank == 0)


def test_a_resumed_training_owes_nothing(rank, size):
    """What was not sent before is sent after: with a dense step at the end nothing is left."""
    options = {"compressor": "auto", "choices": "dense,dgc", "density": 0.05, "values": "fp32",
               "momentum_masking": False, "min_elements": 0}
    net = model()
    optimizer = distributed(net, sgd, options)
    train(net, optimizer, range(BLOCK), rank)
    state = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
    train(net, optimizer, range(BLOCK, BLOCK + 3), rank)
    again = model()
    resumed = distributed(again, sgd, options)
    again.load_state_dict(state[0])
    resumed.load_state_dict(state[1])
    train(again, resumed, range(BLOCK, BLOCK + 3), rank)
    assert_replicas_are_equal(again)
    # The forms differ perhaps, and with them what is held back; not more than three steps can move.
    assert (weights(net) - weights(again)).abs().max() < 0.5


def test_tensors_by_name(rank):
    net = model()
    optimizer = distributed(net, sgd, {"compressor": "auto", "overrides": {
        "*.bias": {"compressor": "dense"}, "2.*": {"compressor": "auto", "choices": "dense,fp16"}}})
    train(net, optimizer, range(BLOCK), rank)
    assert_replicas_are_equal(net)


@pytest.mark.parametrize("options, words", [
    ({"compressor": "auto", "choices": "dense,onebit"}, "choices.*dense, fp16, int8, dgc or push_pull"),
    ({"compressor": "auto", "choices": "dense,push_pull"}, "choices.*route of dgc"),
    ({"compressor": "auto", "choices": "dense,dense"}, "none twice"),
    ({"compressor": "dgc", "alternatives": "onebit"}, "alternatives"),
    ({"compressor": "dgc", "alternatives": "dense", "route": "hierarchical"}, "route=hierarchical"),
    ({"compressor": "auto", "choices": "dense,fp16", "density": 0.1}, "density.*fp16"),
    ({"compressor": "fp16", "alternatives": "dense", "ef": "vanilla"}, "ef remembers"),
])
def test_what_cannot_be_is_refused(options, words):
    net = model()
    with pytest.raises(ValueError, match=words):
        distributed(net, sgd, options)


def test_adams_moments_have_no_alternatives():
    net = model()
    with pytest.raises(ValueError, match="momentum=adam"):
        distributed(net, adam, {"compressor": "auto", "choices": "dense,dgc", "momentum": "adam"})

