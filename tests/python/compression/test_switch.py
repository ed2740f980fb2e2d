"""Another compression in mid-training: what continues, and what a warning says is left out."""

import contextlib
import copy
import types
import warnings

import pytest
import torch

import weir.torch as hvd

from scripted import ran
from training import assert_replicas_are_equal, loss_of, model, weights

# All entries travel as they are, so that training equals that without.
WHOLE = hvd.Compression.dgc(density=1.0, momentum_masking=False, values="fp32", min_elements=0)
DENSE = hvd.Compression.none


def sgd(net, **given):
    return torch.optim.SGD(net.parameters(), **{"lr": 0.1, "momentum": 0.9, **given})


def distributed(net, compression, **given):
    return hvd.DistributedOptimizer(sgd(net, **given), net.named_parameters(), compression)


def train(net, optimizer, steps, rank):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()


def trained_alone(steps, size, **given):
    """Plain SGD on the mean loss of all ranks."""
    net = model()
    optimizer = sgd(net, **given)
    for step in steps:
        optimizer.zero_grad()
        (sum(loss_of(net, step, r) for r in range(size)) / size).backward()
        optimizer.step()
    return net, optimizer


def load_everywhere(state, optimizer, rank):
    optimizer.load_state_dict(state)


def load_and_broadcast(state, optimizer, rank):
    if rank == 0:
        optimizer.load_state_dict(state)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)


@contextlib.contextmanager
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def momenta(optimizer):
    return [state["momentum_buffer"] for state in optimizer.state.values()
            if state.get("momentum_buffer") is not None]


@pytest.mark.parametrize("given", [{}, {"weight_decay": 0.05}, {"maximize": True, "lr": 0.01}])
@pytest.mark.parametrize("load", [load_everywhere, load_and_broadcast])
def test_the_momentum_of_a_dense_checkpoint_goes_on(rank, size, load, given):
    net, plain = trained_alone(range(4), size, **given)
    again = copy.deepcopy(net)
    optimizer = distributed(again, WHOLE, **given)
    load(plain.state_dict(), optimizer, rank)
    train(again, optimizer, range(4, 8), rank)
    expected, _ = trained_alone(range(8), size, **given)
    torch.testing.assert_close(weights(again), weights(expected), rtol=1e-4, atol=1e-5)
    assert_replicas_are_equal(again)
    assert not momenta(optimizer)


def test_a_checkpoint_of_weirs_own_dense_training_is_as_good(rank, size):
    net = model()
    dense = distributed(net, DENSE)
    train(net, dense, range(4), rank)
    state = dense.state_dict()
    del dense  # Its hooks end with it.
    optimizer = distributed(net, WHOLE)
    with no_warning():
        optimizer.load_state_dict(state)
    train(net, optimizer, range(4, 8), rank)
    torch.testing.assert_close(weights(net), weights(trained_alone(range(8), size)[0]), rtol=1e-4,
                               atol=1e-5)


def test_an_optimizer_that_was_trained_and_then_wrapped_goes_on(rank, size):
    net, plain = trained_alone(range(4), size)
    optimizer = hvd.DistributedOptimizer(plain, net.named_parameters(), WHOLE)
    train(net, optimizer, range(4, 8), rank)
    torch.testing.assert_close(weights(net), weights(trained_alone(range(8), size)[0]), rtol=1e-4,
                               atol=1e-5)


def test_nesterovs_momentum_moves_the_weights_as_far(rank):
    """Without further gradients. Its first update comes a little early, their sum is the same."""
    given = {"momentum": 0.5, "nesterov": True, "lr": 1.0}
    ends = []
    for compression in (None, WHOLE):
        parameter = torch.nn.Parameter(torch.zeros(6, 5))
        optimizer = torch.optim.SGD([parameter], **given)
        for step in range(40):
            if step == 1 and compression is not None:
                optimizer = hvd.DistributedOptimizer(optimizer, compression=compression)
            optimizer.zero_grad()
            parameter.backward(torch.full((6, 5), float(step == 0)))
            optimizer.step()
        ends.append(parameter.detach())
    torch.testing.assert_close(*ends)


def test_a_loss_scale_is_on_the_momentum_too(rank, size):
    net, plain = trained_alone(range(4), size)
    optimizer = hvd.DistributedOptimizer(plain, net.named_parameters(), WHOLE)
    optimizer.set_grad_scaler(types.SimpleNamespace(get_scale=lambda: 8.0, is_enabled=lambda: True))
    for step in range(4, 8):
        optimizer.zero_grad()
        (8 * loss_of(net, step, rank)).backward()
        optimizer.synchronize()
        for parameter in net.parameters():
            parameter.grad.div_(8)
        with optimizer.skip_synchronize():
            optimizer.step()
    torch.testing.assert_close(weights(net), weights(trained_alone(range(8), size)[0]), rtol=1e-4,
                               atol=1e-5)


def test_a_skipped_step_takes_nothing_of_it(rank, size):
    net, plain = trained_alone(range(4), size)
    optimizer = hvd.DistributedOptimizer(plain, net.named_parameters(),
                                         {**WHOLE, "skip_nonfinite": True})
    before = weights(net)
    (loss_of(net, 4, rank) * float("inf")).backward()
    optimizer.step()
    assert optimizer.step_report.skipped and torch.equal(weights(net), before)
    train(net, optimizer, range(4, 8), rank)
    torch.testing.assert_close(weights(net), weights(trained_alone(range(8), size)[0]), rtol=1e-4,
                               atol=1e-5)


def test_saved_before_the_first_step_it_is_kept(rank, size):
    net, plain = trained_alone(range(4), size)
    first = distributed(net, WHOLE)
    first.load_state_dict(plain.state_dict())
    state = first.state_dict()
    del first
    second = distributed(net, WHOLE)
    second.load_state_dict(state)
    train(net, second, range(4, 8), rank)
    torch.testing.assert_close(weights(net), weights(trained_alone(range(8), size)[0]), rtol=1e-4,
                               atol=1e-5)


def test_clipping_leaves_the_momentum_out_and_says_so(rank, size):
    ends = []
    for keep in (True, False):
        net, plain = trained_alone(range(4), size)
        if not keep:
            plain.state.clear()
        optimizer = hvd.DistributedOptimizer(plain, net.named_parameters(),
                                             {**WHOLE, "clip_norm": 1e-2})
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            train(net, optimizer, range(4, 6), rank)
        texts = [str(each.message) for each in said]
        assert sum("clip_norm= would clip it" in text for text in texts) == int(keep)
        ends.append(weights(net))
    assert torch.equal(*ends)


def test_a_momentum_does_not_come_on_top_of_another(rank, size):
    net, plain = trained_alone(range(2), size)
    optimizer = distributed(net, WHOLE)
    train(net, optimizer, range(2), rank)
    with pytest.raises(ValueError, match="has taken steps with a momentum of its own: load it into "
                                         "a new one"):
        optimizer.load_state_dict(plain.state_dict())
    train(net, optimizer, range(2), rank)


def test_a_momentum_of_another_kind_of_optimizer_is_left_to_it(rank):
    parameter = torch.nn.Parameter(torch.zeros(6, 5))
    optimizer = hvd.DistributedOptimizer(torch.optim.RMSprop([parameter], lr=0.1, momentum=0.9),
                                         compression={**WHOLE, "momentum": "vanilla"})
    for update in (1.0, 1.9, 2.71):
        optimizer.zero_grad()
        parameter.backward(torch.ones(6, 5))
        optimizer.synchronize()
        torch.testing.assert_close(parameter.grad, torch.full((6, 5), update))
        with optimizer.skip_synchronize():
            optimizer.step()
    assert momenta(optimizer)


# --- back to dense, and to other compressors ---


COMPRESSING = {
    "dgc": hvd.Compression.dgc(density=0.05, min_elements=0),
    "topk": hvd.Compression.topk(0.05, min_elements=0),
    "powersgd": hvd.Compression.powersgd(2, min_elements=0),
    "fp16": {"compressor": "fp16", "ef": "vanilla"},
}


@pytest.mark.parametrize("former, now", [("dgc", "none"), ("dgc", "topk"), ("topk", "dgc"),
                                         ("topk", "none"), ("fp16", "none"),
                                         ("powersgd", "none"), ("topk", "powersgd")])
def test_what_a_compressor_remembers_is_left_out_with_a_warning(rank, size, former, now):
    net = model()
    optimizer = distributed(net, COMPRESSING[former])
    train(net, optimizer, range(3), rank)
    state = optimizer.state_dict()
    if former != "dgc":  # There the momentum is SGD's.
        state["state"] = {}
    ends = []
    for loads in (True, False):
        again = copy.deepcopy(net)
        optimizer = distributed(again, COMPRESSING.get(now, DENSE))
        if loads:
            with pytest.warns(UserWarning, match=f"has compression {former}, this one has {now}: "
                                                 "what the former has remembered .* is left out"):
                optimizer.load_state_dict(state)
        train(again, optimizer, range(3, 6), rank)
        assert_replicas_are_equal(again)
        ends.append(weights(again))
    assert torch.equal(*ends)


def test_groups_of_parameters_that_dgc_kept_apart_are_one_without(rank):
    def made(compression):
        net = model()
        groups = [{"params": [parameter], "momentum": 0.1 * i}
                  for i, parameter in enumerate(net.parameters())]
        return net, hvd.DistributedOptimizer(torch.optim.SGD(groups, lr=0.1),
                                             compression=compression)

    net, former = made(COMPRESSING["dgc"])
    train(net, former, range(2), rank)
    net, optimizer = made(DENSE)
    with pytest.warns(UserWarning, match="has compression dgc, this one has none"):
        optimizer.load_state_dict(former.state_dict())
    train(net, optimizer, range(2), rank)
    assert_replicas_are_equal(net)


@pytest.mark.parametrize("former, now", [
    (DENSE, hvd.Compression.fp16), (hvd.Compression.fp16, DENSE), (DENSE, COMPRESSING["topk"]),
    (COMPRESSING["dgc"], hvd.Compression.dgc(density=0.5, min_elements=0))])
def test_where_nothing_is_lost_nothing_is_said(rank, former, now):
    net = model()
    first = distributed(net, former)
    train(net, first, range(2), rank)
    state = first.state_dict()
    del first
    optimizer = distributed(net, now)
    with no_warning():
        optimizer.load_state_dict(state)
        train(net, optimizer, range(2, 4), rank)
    assert_replicas_are_equal(net)


def test_a_plain_optimizer_begins_with_no_momentum(rank):
    net = model()
    optimizer = distributed(net, COMPRESSING["dgc"])
    train(net, optimizer, range(2), rank)
    plain = sgd(net)
    plain.load_state_dict(optimizer.state_dict())
    assert not momenta(plain)


# --- what cannot be ---


def test_a_type_that_is_not_compressed_does_not_lose_its_momentum(rank):
    net = torch.nn.Linear(3, 2).double()
    with pytest.raises(ValueError, match="'weight' is of type torch.float64, .* momentum of its "
                                         "parameter group"):
        distributed(net, COMPRESSING["dgc"])
    distributed(net, COMPRESSING["dgc"], momentum=0.0)
    distributed(net, DENSE)


def test_who_loads_alone_is_told_how_to(folder):
    code, out, error = ran(folder, """
        import torch, weir, weir.torch as hvd

        def work():
            hvd.init()
            weight = torch.nn.Parameter(torch.ones(4))
            optimizer = hvd.DistributedOptimizer(
                torch.optim.SGD([weight], lr=0.1, momentum=0.9), compression=hvd.Compression.dgc())
            if hvd.rank() == 0:
                optimizer.load_state_dict(optimizer.state_dict())
            weight.sum().backward()
            optimizer.step()

        try:
            weir.run(work, np=2)
        except RuntimeError as caught:
            print("CAUGHT", caught)
        """, WEIR_STALL_CHECK_TIME_SECONDS="0.5", WEIR_STALL_SHUTDOWN_TIME_SECONDS="1.5")
    assert code == 0, error
    assert "load_state_dict() on every rank, or on one and then broadcast_optimizer_state()' was " \
           "submitted by ranks [0]" in out
