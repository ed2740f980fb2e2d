"""Schedules of the learning rate that a program made before it wrapped its optimizer."""

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model

KINDS = {
    "dense": {},
    "dgc": {"compression": hvd.Compression.dgc(density=0.5, min_elements=0)},
    "adasum": {"op": hvd.Adasum},
}


def made(kind):
    net = model()
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(sgd, 1, gamma=0.5)
    return net, hvd.DistributedOptimizer(sgd, net.named_parameters(), **KINDS[kind]), schedule


def train(net, optimizer, schedule, rank, steps):
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()
        schedule.step()


def broadcast(net, optimizer, schedule, rank):
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)


def load(net, optimizer, schedule, rank):
    optimizer.load_state_dict(optimizer.state_dict())


def broadcast_what_rank_zero_loads(net, optimizer, schedule, rank):
    if rank == 0:
        load(net, optimizer, schedule, rank)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)


def synchronise(net, optimizer, schedule, rank):
    hvd.elastic.TorchState(net, optimizer, schedule=schedule).sync()


def restore(net, optimizer, schedule, rank):
    state = hvd.elastic.TorchState(net, optimizer, schedule=schedule)
    state.save()
    state.restore()


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
@pytest.mark.parametrize("what", [broadcast, load, broadcast_what_rank_zero_loads, synchronise,
                                  restore], ids=lambda call: call.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_goes_on_setting_the_rate(rank, kind, what):
    net, optimizer, schedule = made(kind)
    hvd.broadcast_parameters(net.state_dict(), root_rank=0)
    what(net, optimizer, schedule, rank)
    train(net, optimizer, schedule, rank, 3)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.0125)
    assert schedule.get_last_lr() == [optimizer.param_groups[0]["lr"]]
    assert_replicas_are_equal(net)
    what(net, optimizer, schedule, rank)  # With existing state.
    train(net, optimizer, schedule, rank, 1)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.00625)
    assert_replicas_are_equal(net)
