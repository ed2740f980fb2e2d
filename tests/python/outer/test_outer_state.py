"""Outer: state that is saved, loaded, broadcast, and goes on in another job."""

import copy
import io

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights

COMPRESSIONS = {"none": "none",
                "dgc": {"compressor": "dgc", "density": 0.1, "min_elements": 1, "values": "fp32"},
                "topk": {"compressor": "topk", "k": 0.1, "ef": "vanilla", "min_elements": 1, "values": "fp32"}}
# Saved after 6 steps of 11: in the middle of a round with overlap.
ROUNDS = {"waiting": {}, "streaming": {"fragments": 2, "overlap": 3}}


def made(compression, seed=7, **rounds):
    net = model(seed)
    return net, hvd.Outer(torch.optim.AdamW(net.parameters(), lr=0.01), net.named_parameters(), every=5,
                          compression=COMPRESSIONS[compression], **rounds)


def train(net, optimizer, rank, steps):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()


def through_a_file(state):
    file = io.BytesIO()
    torch.save(state, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=True) if torch.__version__ >= "2" else copy.deepcopy(
        state)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_loaded_state_goes_on_with_the_same_bits(rank, compression, rounds):
    net, optimizer = made(compression, **ROUNDS[rounds])
    train(net, optimizer, rank, range(6))
    saved = through_a_file({"net": net.state_dict(), "optimizer": optimizer.state_dict()})
    train(net, optimizer, rank, range(6, 11))

    again, loaded = made(compression, seed=3, **ROUNDS[rounds])
    again.load_state_dict(saved["net"])
    loaded.load_state_dict(saved["optimizer"])
    train(again, loaded, rank, range(6, 11))
    assert torch.equal(weights(net), weights(again))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_saving_changes_nothing(rank, rounds):
    found = []
    for saves in (False, True):
        net, optimizer = made("dgc", **ROUNDS[rounds])
        for step in range(11):
            train(net, optimizer, rank, [step])
            if saves and rank == 0:
                optimizer.state_dict()
        found.append(weights(net))
    assert torch.equal(*found)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_rank_0s_state_may_be_loaded_there_and_broadcast(rank, rounds):
    net, optimizer = made("none", **ROUNDS[rounds])
    train(net, optimizer, rank, range(6))
    optimizer.state_dict()
    saved = hvd.broadcast_object({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, 0)

    everywhere, first = made("none", seed=3, **ROUNDS[rounds])
    everywhere.load_state_dict(saved["net"])
    first.load_state_dict(copy.deepcopy(saved["optimizer"]))
    on_one, second = made("none", seed=4, **ROUNDS[rounds])
    if rank == 0:
        on_one.load_state_dict(saved["net"])
        second.load_state_dict(saved["optimizer"])
    hvd.broadcast_parameters(on_one.state_dict(), 0)
    hvd.broadcast_optimizer_state(second, 0)
    train(everywhere, first, rank, range(6, 11))
    train(on_one, second, rank, range(6, 11))
    assert torch.equal(weights(everywhere), weights(on_one))


def test_the_state_of_a_plain_optimizer_begins_anew(rank):
    net = model()
    plain = torch.optim.AdamW(net.parameters(), lr=0.01)
    train(net, plain, rank, range(2))
    again, optimizer = made("none")
    again.load_state_dict(net.state_dict())
    optimizer.load_state_dict(plain.state_dict())
    train(again, optimizer, rank, range(2, 7))
    assert_replicas_are_equal(again)


def test_the_state_of_another_kind_is_refused(rank):
    net, optimizer = made("none", fragments=2)
    train(net, optimizer, rank, range(2))
    _, other = made("none")
    with pytest.raises(ValueError, match="2 fragments, this one has 1"):
        other.load_state_dict(optimizer.state_dict())
    each_step = hvd.DistributedOptimizer(torch.optim.AdamW(model().parameters(), lr=0.01))
    with pytest.raises(ValueError, match="takes local steps"):
        other.load_state_dict(each_step.state_dict())
    with pytest.raises(ValueError, match="takes local steps"):
        each_step.load_state_dict(optimizer.state_dict())
    with pytest.raises(ValueError, match="load it into a new one"):
        optimizer.load_state_dict(torch.optim.AdamW(model().parameters(), lr=0.01).state_dict())
    net = torch.nn.Sequential(*(torch.nn.Linear(6, 5) for _ in range(2)))
    narrow = hvd.Outer(torch.optim.AdamW(net.parameters(), lr=0.01), fragments=2)
    with pytest.raises(ValueError, match="parameters of the shapes"):
        narrow.load_state_dict(optimizer.state_dict())


@pytest.mark.parametrize("compression", ["none", "dgc"])
def test_a_state_may_be_loaded_in_the_middle_of_a_round(rank, compression):
    net, optimizer = made(compression, **ROUNDS["streaming"])
    train(net, optimizer, rank, range(2))
    saved = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
    found = []
    for _ in range(2):
        train(net, optimizer, rank, range(2, 9))
        found.append(weights(net))
        net.load_state_dict(saved[0])
        optimizer.load_state_dict(copy.deepcopy(saved[1]))
    assert torch.equal(*found)


def test_ranks_of_a_process_set_train_together(rank, size):
    if size == 1:
        pytest.skip("needs a rank outside of the set")
    members = hvd.add_process_set(list(range(size - 1)))
    net = model(seed=rank)
    optimizer = hvd.Outer(torch.optim.AdamW(net.parameters(), lr=0.01), every=3, process_set=members)
    hvd.broadcast_optimizer_state(optimizer, 0)
    train(net, optimizer, rank, range(6))
    state = hvd.elastic.TorchState(optimizer=optimizer)
    state.sync()
    everyone = hvd.allgather(weights(net)[None])[:size - 1]
    assert all(torch.equal(everyone[0], one) for one in everyone)
    hvd.barrier()
    hvd.remove_process_set(members)


class Once:
    def __init__(self, step, error):
        self.step, self.error = step, error

    def __call__(self, step):
        if step == self.step:
            self.step = None
            raise self.error


def trained(rank, compression, rounds, fail):
    net, optimizer = made(compression, seed=rank, **ROUNDS[rounds])

    @hvd.elastic.run
    def run(state):
        while state.step < 11:
            fail(state.step)
            train(net, optimizer, rank, [state.step])
            state.step += 1
            if state.step in (3, 6):
                state.commit()

    state = hvd.elastic.TorchState(net, optimizer, step=0)
    run(state)
    optimizer.synchronize()
    assert_replicas_are_equal(net)
    return weights(net)


@pytest.mark.parametrize("compression", ["none", "dgc"])
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("error", [hvd.HorovodInternalError("made up"), hvd.elastic.HostsUpdatedInterrupt()])
def test_training_goes_on_after_an_interruption(rank, size, compression, rounds, error):
    found = trained(rank, compression, rounds, Once(7, error))
    assert found.isfinite().all()
    if size == 1:  # Several ranks go on from rank 0's model, not each from its own.
        assert torch.equal(found, trained(rank, compression, rounds, lambda step: None))


def test_ranks_with_less_data_join(rank, size):
    for rounds in ROUNDS.values():
        net, optimizer = made("none", **rounds)
        train(net, optimizer, rank, range(6 if rank == size - 1 else 11))
        last = hvd.join()
        hvd.broadcast_parameters(net.state_dict(), last)
        hvd.broadcast_optimizer_state(optimizer, last)
        train(net, optimizer, rank, range(11, 14))
        optimizer.synchronize()
        assert_replicas_are_equal(net)
