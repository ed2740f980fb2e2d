"""State that is copied to all ranks, saved and restored."""

import io

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights

# Every optimizer that torch has, except those that need a closure or sparse gradients.
NAMES = sorted(
    name for name, kind in vars(torch.optim).items()
    if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
    and name not in ("Optimizer", "LBFGS", "SparseAdam"))


def make(name, net, rate):
    # Muon takes matrices alone.
    parameters = [p for p in net.parameters() if name != "Muon" or p.dim() == 2]
    return getattr(torch.optim, name)(parameters, lr=rate)


def tensors_of(state):
    return [value for per_parameter in state["state"].values()
            for _, value in sorted(per_parameter.items()) if torch.is_tensor(value)]


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_broadcast_optimizer_state(rank, size, name, wrapped):
    net = model(seed=rank)
    optimizer = make(name, net, 0.01 * (rank + 1))
    if rank == 0:  # The others have no state yet.
        loss_of(net, 0, rank).backward()
        optimizer.step()
    if wrapped:
        optimizer = hvd.DistributedOptimizer(optimizer)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert optimizer.param_groups[0]["lr"] == 0.01
    states = hvd.allgather_object(tensors_of(torch.optim.Optimizer.state_dict(optimizer)))
    for other in states:
        assert len(other) == len(states[0])
        assert all(torch.equal(a, b) for a, b in zip(states[0], other))


def test_lbfgs_is_refused():
    with pytest.raises(ValueError, match="LBFGS"):
        hvd.broadcast_optimizer_state(torch.optim.LBFGS(model().parameters()), 0)


@pytest.mark.parametrize("what", [lambda net: net.state_dict(),
                                  lambda net: net.named_parameters(),
                                  lambda net: list(net.named_parameters())])
def test_broadcast_parameters(rank, what):
    net = model(seed=rank)
    hvd.broadcast_parameters(what(net), root_rank=0)
    assert torch.equal(weights(net), weights(model(seed=0)))


def test_broadcast_parameters_refuses_what_has_no_names():
    with pytest.raises(ValueError, match="invalid params of type"):
        hvd.broadcast_parameters(model().parameters(), 0)


def distributed(net, compression):
    return hvd.DistributedOptimizer(
        torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3),
        net.named_parameters(), compression)


def train(net, optimizer, steps, rank):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()


COMPRESSIONS = {
    "none": hvd.Compression.none,
    "topk": hvd.Compression.topk(0.05, min_elements=0),
    "powersgd": hvd.Compression.powersgd(2, min_elements=0),
    "dgc": hvd.Compression.dgc(density=0.05, min_elements=100, warmup_steps=6),
}


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_resumed_training_is_that_of_no_stop_bit_for_bit(rank, name):
    net = model()
    optimizer = distributed(net, COMPRESSIONS[name])
    train(net, optimizer, range(5), rank)
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    train(net, optimizer, range(5, 10), rank)

    file.seek(0)
    # PyTorch 1 did not read even its own optimizers that way.
    saved = torch.load(file, weights_only=not torch.__version__.startswith("1."))
    again = model(seed=99)
    again.load_state_dict(saved["net"])
    resumed = distributed(again, COMPRESSIONS[name])
    resumed.load_state_dict(saved["optimizer"])
    train(again, resumed, range(5, 10), rank)
    assert torch.equal(weights(again), weights(net))


@pytest.mark.parametrize("everyone_loads", [False, True])
@pytest.mark.parametrize("name", COMPRESSIONS)
def test_a_checkpoint_of_rank_0_alone(rank, size, name, everyone_loads):
    net = model()
    optimizer = distributed(net, COMPRESSIONS[name])
    train(net, optimizer, range(5), rank)
    checkpoint = hvd.broadcast_object(
        (net.state_dict(), optimizer.state_dict()) if rank == 0 else None)

    again = model(seed=rank)
    resumed = distributed(again, COMPRESSIONS[name])
    if everyone_loads or rank == 0:
        again.load_state_dict(checkpoint[0])
        resumed.load_state_dict(checkpoint[1])
    if not everyone_loads:
        hvd.broadcast_parameters(again.state_dict(), 0)
        hvd.broadcast_optimizer_state(resumed, 0)
    before = loss_of(again, 0, rank).item()
    train(again, resumed, [0] * 20, rank)
    assert_replicas_are_equal(again)
    assert loss_of(again, 0, rank).item() < before


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(rank):
    net = model()
    optimizer = distributed(net, COMPRESSIONS["dgc"])
    other = hvd.DistributedOptimizer(torch.optim.SGD([
        {"params": [parameter], "momentum": 0.1 * i} for i, parameter
        in enumerate(model().parameters())], lr=0.5), compression=COMPRESSIONS["dgc"])
    with pytest.raises(ValueError, match="groups of gradients"):
        optimizer.load_state_dict(other.state_dict())
    assert optimizer.param_groups[0]["lr"] == 0.1
    train(net, optimizer, range(2), rank)


def test_a_plain_optimizer_reads_the_state_and_gives_it(rank):
    net = model()
    optimizer = distributed(net, COMPRESSIONS["none"])
    train(net, optimizer, range(2), rank)
    plain = torch.optim.SGD(net.parameters(), lr=0.3)
    plain.load_state_dict(optimizer.state_dict())
    assert plain.param_groups[0]["lr"] == 0.1
    optimizer.load_state_dict(plain.state_dict())
    train(net, optimizer, range(2), rank)


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_an_optimizer_goes_on_in_the_next_job(rank, size, name):
    def trained(between):
        net = model()
        optimizer = distributed(net, COMPRESSIONS[name])
        train(net, optimizer, range(4), rank)
        between(net, optimizer)
        train(net, optimizer, range(4, 8), rank)
        return weights(net)

    def leave_and_join(net, optimizer):
        state = optimizer.state_dict()
        hvd.shutdown()
        loss_of(net, 5, rank).backward()  # Without a job, the model is as any other.
        hvd.init()
        optimizer.load_state_dict(state)

    assert torch.equal(trained(leave_and_join), trained(lambda net, optimizer: None))
