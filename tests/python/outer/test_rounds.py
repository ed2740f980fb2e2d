"""Outer: local steps and rounds, against the algorithm in one process."""

import warnings

import pytest
import torch

import weir.torch as hvd

from alone import Alone
from training import assert_replicas_are_equal, loss_of, model, weights

INNER = {"sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
         "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01)}
ROUNDS = {"diloco": {}, "local sgd": {"outer_lr": 1.0, "outer_momentum": 0.0}, "overlap": {"overlap": 2},
          "fragments": {"fragments": 2}, "streaming": {"fragments": 2, "overlap": 1}}
STEPS = 11


def train(net, optimizer, rank, steps=range(STEPS)):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()


def alone(inner, size, every, fragments=1, **rounds):
    nets = [model() for _ in range(size)]
    optimizers = [INNER[inner](net.parameters()) for net in nets]
    # The first layer's weights are three quarters of the model.
    parts = [[0, 1, 2, 3]] if fragments == 1 else [[0], [1, 2, 3]]
    reference = Alone(nets, optimizers, every, parts, **rounds)
    for step in range(STEPS):
        for rank, (net, optimizer) in enumerate(zip(nets, optimizers)):
            optimizer.zero_grad()
            loss_of(net, step, rank).backward()
            optimizer.step()
        reference.after_local_steps()
    return reference


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("rounds", ROUNDS)
def test_training_is_that_of_the_algorithm_in_one_process(rank, size, inner, rounds):
    net = model(seed=7 + rank)  # The first rank's becomes everybody's.
    optimizer = hvd.Outer(INNER[inner](net.parameters()), net.named_parameters(), every=4, compression="none",
                          **ROUNDS[rounds])
    train(net, optimizer, rank)
    reference = alone(inner, size, 4, **ROUNDS[rounds])
    torch.testing.assert_close(weights(net), weights(reference.nets[rank]), rtol=1e-4, atol=1e-5)
    if size > 1:
        everyone = hvd.allgather(weights(net)[None])
        assert not torch.equal(everyone[0], everyone[-1])  # In the middle of a round.


@pytest.mark.parametrize("compression", ["none", "fp16", {"compressor": "dgc", "density": 0.1, "min_elements": 1},
                                         {"compressor": "onebit", "ef": "vanilla", "min_elements": 1}])
def test_replicas_are_equal_after_a_round_and_after_synchronize(rank, compression):
    net = model()
    optimizer = hvd.Outer(INNER["adamw"](net.parameters()), every=4, compression=compression)
    train(net, optimizer, rank, range(4))
    assert_replicas_are_equal(net)
    train(net, optimizer, rank, range(4, 6))
    optimizer.synchronize()
    assert_replicas_are_equal(net)
    after = weights(net)
    optimizer.synchronize()  # Nothing has happened since.
    assert torch.equal(weights(net), after)


def test_synchronize_ends_rounds_under_way(rank):
    net = model()
    optimizer = hvd.Outer(INNER["sgd"](net.parameters()), every=4, fragments=2, overlap=3)
    train(net, optimizer, rank, range(5))
    optimizer.synchronize()
    assert_replicas_are_equal(net)


def test_only_rounds_are_exchanged(rank):
    net = model()
    optimizer = hvd.Outer(INNER["sgd"](net.parameters()), every=4, fragments=2, compression="fp16")
    steps = []
    for step in range(9):
        train(net, optimizer, rank, [step])
        steps.append([report.step for report in optimizer.round_reports])
    assert steps == [[], [0], [], [0], [], [1], [], [1], []]
    optimizer.synchronize()
    assert [report.step for report in optimizer.round_reports] == [2, 2]


def test_half_precision_parameters_that_do_not_move_stay_where_they_are():
    net = model().to(torch.bfloat16)
    optimizer = hvd.Outer(torch.optim.SGD(net.parameters(), lr=0.1), every=2, outer_lr=0.3, outer_momentum=0.0)
    for parameter in net.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)).to(torch.bfloat16)
    for _ in range(2):
        optimizer.step()  # The anchor is no bfloat16 now.
    before = weights(net)
    optimizer.param_groups[0]["lr"] = 0.0
    for _ in range(40):
        optimizer.step()
    assert torch.equal(weights(net), before)


@pytest.mark.parametrize("every", [22, 23, 30])
def test_each_fragment_has_a_round_of_its_own(every):
    net = torch.nn.ParameterList([torch.zeros(4) for _ in range(every)])
    optimizer = hvd.Outer(torch.optim.SGD(net.parameters(), lr=0.1), every=every, fragments=every)
    for _ in range(every):
        optimizer.step()
        assert len(optimizer.round_reports) == 1


def test_schedulers_and_closures_work_as_on_the_wrapped_optimizer(rank):
    net = model()
    optimizer = hvd.Outer(torch.optim.SGD(net.parameters(), lr=0.5), every=2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(net, 0, rank)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    schedule.step()
    assert loss.item() > 0 and optimizer.param_groups[0]["lr"] == 0.25


def test_parameters_that_come_later_are_agreed_on_too(rank):
    net = model(seed=7 + rank)
    for parameter in net[2].parameters():
        parameter.requires_grad_(False)
    optimizer = hvd.Outer(torch.optim.SGD(net[0].parameters(), lr=0.1), every=2)
    optimizer.add_param_group({"params": list(net[2].parameters())})
    hvd.broadcast_parameters(net.state_dict(), 0)
    train(net, optimizer, rank, range(3))
    for parameter in net[2].parameters():
        parameter.requires_grad_(True)
    train(net, optimizer, rank, range(3, 6))
    assert_replicas_are_equal(net)


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"), reason="before PyTorch 2.3 a GradScaler is for CUDA alone")
def test_a_step_that_overflows_on_one_rank_counts_on_all(rank, size):
    net = model()
    optimizer = hvd.Outer(INNER["sgd"](net.parameters()), every=2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for step in range(4):
        optimizer.zero_grad()
        scale = float("inf") if step == 1 and rank == size - 1 else 1.0
        before = weights(net)
        scaler.scale(loss_of(net, step, rank) * scale).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weights(net).isfinite().all() and not torch.equal(weights(net), before)
    assert_replicas_are_equal(net)


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"), reason="before PyTorch 2.3 a GradScaler is for CUDA alone")
def test_a_loss_scale_changes_nothing(rank):
    found = []
    for scale in (1.0, 2.0**8):
        net = model()
        optimizer = hvd.Outer(INNER["sgd"](net.parameters()), every=2)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        for step in range(4):
            optimizer.zero_grad()
            scaler.scale(loss_of(net, step, rank)).backward()
            scaler.unscale_(optimizer) if step == 2 else None
            scaler.step(optimizer)
            scaler.update()
        found.append(weights(net))
    assert torch.equal(*found)


@pytest.mark.parametrize("wrong, message", [
    ({"every": 0}, "every=0: give a whole number of at least 1"),
    ({"every": 2.5}, "every=2.5"),
    ({"fragments": 0}, "fragments=0"),
    ({"every": 2, "fragments": 3}, "two rounds would begin in one step"),
    ({"every": 2, "overlap": 2}, "a round must end before the next one begins"),
    ({"overlap": -1}, "overlap=-1"),
    ({"outer_lr": 0}, "outer_lr=0"),
    ({"outer_momentum": 1.0}, "outer_momentum=1.0"),
    ({"compression": "nonesuch"}, "nonesuch"),
    ({"compression": {"compressor": "dgc", "look_ahead": 1}}, "look_ahead"),
])
def test_arguments_without_meaning_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        hvd.Outer(torch.optim.SGD(model().parameters(), lr=0.1), **wrong)


def test_patterns_are_matched_with_the_parameters_of_all_fragments(rank):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hvd.Outer(INNER["sgd"](model().parameters()), every=4, fragments=2,
                  compression={"compressor": "int8", "compressor[*parameter0]": "dense"})
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        hvd.Outer(INNER["sgd"](model().parameters()), compression={"compressor": "int8", "ef[nobody]": "none"})
    assert len([one for one in seen if "nobody" in str(one.message)]) == (rank == 0)


def test_what_is_no_optimizer_or_wrapped_already_is_refused():
    with pytest.raises(TypeError, match="Outer wraps a torch.optim.Optimizer, not a Sequential"):
        hvd.Outer(model())
    once = hvd.Outer(torch.optim.SGD(model().parameters(), lr=0.1))
    for wrap in (hvd.Outer, hvd.DistributedOptimizer):
        with pytest.raises(ValueError, match="wrap it once"):
            wrap(once)
