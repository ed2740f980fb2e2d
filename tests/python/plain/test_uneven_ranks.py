"""Ranks that do not have the same gradients, and programs that mix what other tests have one by one."""

import threading

import pytest
import torch

import weir.torch as hvd
from weir.torch._optimizer import readiness

from compared import COMPRESSIONS, Alone, Rank, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(parameters, **options):
    return torch.optim.SGD(parameters, **{"lr": 0.05, "momentum": 0.9, **options})


def clipped_with_heads(world, steps=8):
    """Some ranks have no gradient at all in some steps, and all clip."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().sum() if rank != step % 3
                   else torch.zeros((), requires_grad=True)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    return model.parameters()


@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
def test_ranks_without_gradients_clip_too(compression):
    compare(clipped_with_heads, compression)


def spikes_are_skipped(world, spikes, steps=8):
    """The norm is what tells a spike; the step is then skipped."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters(), weight_decay=0.01), model)
    for step in range(steps):
        optimizer.zero_grad()
        factor = 1e6 if step in spikes else 1.0
        world.mean(lambda rank: factor * model(noise(rank, step, 8, 6)).square().mean()).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        if norm < 1000:
            optimizer.step()
    return model.parameters()


@every_compression
@pytest.mark.parametrize("spikes", [{0}, {3}, {3, 4}, {2, 5}])
def test_a_step_is_skipped_after_its_norm_was_seen(spikes, compression):
    compare(lambda world: spikes_are_skipped(world, spikes), compression)


def test_such_a_step_leaves_no_trace_in_what_was_not_sent(rank):
    def trained(with_spike):
        model = net(6, 8, 3)
        optimizer = Rank(COMPRESSIONS["dgc, 5 %"]).wrapped(sgd(model.parameters()), model)
        for step in [0, 1, 2, *[99] * with_spike, 3, 4]:
            optimizer.zero_grad()
            factor = 1e6 if step == 99 else 1.0
            (factor * model(noise(rank, step, 8, 6)).square().mean()).backward()
            if torch.nn.utils.clip_grad_norm_(model.parameters(), 1e3) < 1e3:
                optimizer.step()
        return optimizer.state_dict()["weir"]["exchanges"], list(model.parameters())
    (saved, weights), (expected, expected_weights) = trained(True), trained(False)
    assert all(torch.equal(a, b) for a, b in zip(saved, expected))
    assert all(torch.equal(a, b) for a, b in zip(weights, expected_weights))


def test_a_skipped_step_does_not_let_a_rank_miss_the_next(rank):
    """After a step that all have clipped and skipped, one rank has no gradient."""
    model = net(6, 8, 3)
    optimizer = Rank(COMPRESSIONS["none"]).wrapped(sgd(model.parameters()), model)
    for step in range(6):
        optimizer.zero_grad()
        if step != 4 or rank == 0:
            model(noise(rank, step, 8, 6)).square().mean().backward()
        if step == 3:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            continue
        optimizer.step()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everyone = hvd.allgather(weights[None])
    assert all(torch.equal(everyone[0], one) for one in everyone)


def clipped_in_between(world):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(5):
        optimizer.zero_grad()
        for part in range(2):
            world.mean(lambda rank: model(noise(rank, 10 * step + part, 8, 6)).square().mean()
                       ).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
        optimizer.step()
    return model.parameters()


def test_a_pass_after_clipping_adds_to_the_mean_or_is_refused():
    compare(clipped_in_between, "none")
    with pytest.raises(ValueError, match="a backward pass adds to gradients that all"):
        clipped_in_between(Rank(COMPRESSIONS["dgc, 5 %"]))


def two_types(world, steps=6):
    """Parameters of two types, whose gradients travel in different ways, and passes that add up."""
    half, whole = net(6, 8), net(8, 3, seed=2).double()
    optimizer = world.wrapped(sgd([*half.parameters(), *whole.parameters()], momentum=0.0), half,
                              whole)
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(1 + step % 2):
            world.mean(lambda rank: whole(half(noise(rank, 10 * step + part, 8, 6)).double())
                       .square().mean()).backward()
        optimizer.step()
    return [*half.parameters(), *whole.parameters()]


def test_parameters_of_two_types():
    compare(two_types, "none")


def test_sparse_gradients_as_dense_ones_in_passes_that_add_up(rank, size):
    def program(mean, wrapped):
        torch.manual_seed(1)
        table = torch.nn.Embedding(12, 3, sparse=True)
        optimizer = wrapped(torch.optim.SGD(table.parameters(), lr=0.1))
        for step in range(6):
            optimizer.zero_grad()
            for part in range(1 + step % 2):
                mean(lambda r: table((torch.arange(4) + r + step + part) % 12).square().sum()
                     ).backward()
            optimizer.step()
        return table.weight.detach()
    ours = program(lambda f: f(rank), lambda optimizer: hvd.DistributedOptimizer(
        optimizer, sparse_as_dense=True))
    alone = program(lambda f: sum(f(r) for r in range(size)) / size, lambda optimizer: optimizer)
    torch.testing.assert_close(ours, alone)


def late(world, dampening, steps=8):
    """A layer that is used from the fourth step on, with dampening."""
    first, second = net(6, 8), net(8, 3, seed=2)
    optimizer = world.wrapped(sgd([*first.parameters(), *second.parameters()],
                                  dampening=dampening), first, second)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: (second(first(noise(rank, step, 8, 6))) if step > 2
                                 else first(noise(rank, step, 8, 6))).square().mean()).backward()
        optimizer.step()
    return [*first.parameters(), *second.parameters()]


@every_compression
def test_dampening_begins_with_a_parameters_own_first_gradient(compression):
    compare(lambda world: late(world, 0.5), compression)


@pytest.mark.parametrize("grad", [lambda g: g.clone(), lambda g: g.clone().mul_(0.5)])
def test_a_gradient_of_float64_that_the_program_replaces_is_named(rank, grad):
    model = net(6, 8, 3).double()
    optimizer = Rank(COMPRESSIONS["none"]).wrapped(sgd(model.parameters()), model)
    for step in range(12):
        optimizer.zero_grad()
        model(noise(rank, step, 8, 6).double()).square().mean().backward()
        if step < 11:
            optimizer.step()
    model[0].weight.grad = grad(model[0].weight.grad)
    with pytest.raises(ValueError, match="gradient of '0.0.weight' was changed between"):
        optimizer.step()


# --- ranks that are elsewhere when others come to the end of their backward pass ---


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(readiness, "_PATIENCE", 0.3)


def losses_of(model, rank, step):
    return model(noise(rank, step, 8, 6)).square().mean()


@every_compression
@pytest.mark.filterwarnings("ignore:rank . has waited")
def test_a_rank_without_a_batch_reduces_something_before_its_step(rank, size, compression, impatient):
    model, alone = net(6, 8, 3), net(6, 8, 3)
    optimizer = Rank(COMPRESSIONS[compression]).wrapped(sgd(model.parameters()), model)
    plain = sgd(alone.parameters())
    for step in range(6):
        optimizer.zero_grad(set_to_none=True)
        if step != 2 or rank == 0:
            losses_of(model, rank, step).backward()
        hvd.allreduce(torch.ones(1), name="loss")
        optimizer.step()
        plain.zero_grad(set_to_none=True)
        (sum(losses_of(alone, each, step) for each in range(size) if step != 2 or each == 0) / size).backward()
        plain.step()
    ours = torch.cat([one.detach().flatten() for one in model.parameters()])
    assert torch.equal(hvd.broadcast(ours, 0), ours)
    if compression != "dgc, 5 %":
        torch.testing.assert_close(ours, torch.cat([one.detach().flatten() for one in alone.parameters()]))


@every_compression
@pytest.mark.filterwarnings("ignore:rank . has waited")
def test_ranks_have_samples_for_different_models(rank, compression, impatient):
    models = [net(6, 8, 3, seed=i) for i in range(2)]
    optimizers = [Rank(COMPRESSIONS[compression]).wrapped(sgd(model.parameters()), model) for model in models]
    for step in range(4):
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        for i, model in enumerate(models):
            if step == 0 or i == rank % 2:
                losses_of(model, rank, step).backward()
        for optimizer in optimizers:
            optimizer.step()
    ours = torch.cat([one.detach().flatten() for model in models for one in model.parameters()])
    assert torch.equal(hvd.broadcast(ours, 0), ours)


@every_compression
def test_an_expert_is_used_in_one_of_two_announced_passes(rank, size, compression):
    def program(world):
        experts = torch.nn.ModuleList(net(6, 8, 3, seed=i) for i in range(2))
        optimizer = sgd(experts.parameters())
        if not isinstance(world, Alone):
            optimizer = hvd.DistributedOptimizer(optimizer, experts.named_parameters(),
                                                 COMPRESSIONS[compression], backward_passes_per_step=2)
        for step in range(6):
            optimizer.zero_grad(set_to_none=True)
            for i in range(2):
                world.mean(lambda rank: losses_of(experts[i * (rank == 0)], rank, 2 * step + i)).backward()
            if not isinstance(world, Alone):
                hvd.allreduce(torch.ones(1), name="loss")
            optimizer.step()
        return experts.parameters()
    compare(program, compression)


@every_compression
def test_a_pass_that_fails_is_part_of_the_step(compression):
    """The program catches its error; what it had added by then is part of the gradient."""
    def program(world):
        model = net(6, 8, 3)
        optimizer = world.wrapped(sgd(model.parameters()), model)
        for step in range(12):
            optimizer.zero_grad(set_to_none=True)
            world.mean(lambda rank: losses_of(model, rank, 2 * step)).backward()
            if step % 3 == 1:
                inputs = noise(0, step, 8, 6).requires_grad_()
                inputs.register_hook(lambda _: 1 / 0)  # When all parameters have theirs.
                with pytest.raises(ZeroDivisionError):
                    world.mean(lambda rank: (model(inputs) - rank).square().mean()).backward()
            optimizer.step()
        return model.parameters()
    compare(program, compression)


@every_compression
def test_another_threads_pass_leaves_the_gradients_alone(rank, compression):
    """It begins before the step and ends after it."""
    def program(world):
        model, unrelated = net(6, 8, 3), net(6, 8, 3)
        optimizer = world.wrapped(sgd(model.parameters()), model)
        for step in range(4):
            optimizer.zero_grad(set_to_none=True)
            world.mean(lambda rank: losses_of(model, rank, step)).backward()
            begun, stepped = threading.Event(), threading.Event()
            loss = losses_of(unrelated, 0, step)
            loss.register_hook(lambda _: (begun.set(), stepped.wait(20))[2:] or None)
            thread = threading.Thread(target=loss.backward)
            thread.start()
            assert begun.wait(20)
            optimizer.step()
            stepped.set()
            thread.join()
        return model.parameters()
    compare(program, compression)
