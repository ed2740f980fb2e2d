"""Continuing after an error: restored state, the same training as without one."""

import pytest
import torch

import weir.torch as hvd

from training import assert_replicas_are_equal, loss_of, model, weights
from test_state import COMPRESSIONS, distributed


def trained(rank, name, fail):
    """Eight steps, committed after every second one; `fail(state, optimizer)` is called before and
    amid every step."""
    net = model(seed=rank)  # Rank 0's becomes everybody's.
    optimizer = distributed(net, COMPRESSIONS[name])
    runs = []

    @hvd.elastic.run
    def train(state):
        runs.append(state.step)
        while state.step < 8:
            optimizer.zero_grad()
            fail(state.step, "before")
            loss_of(net, state.step, rank).backward()
            fail(state.step, "amid")
            optimizer.step()
            state.step += 1
            if state.step % 2 == 0:
                state.commit()
        return state.step

    state = hvd.elastic.TorchState(net, optimizer, step=0)
    resets = []
    state.register_reset_callbacks([lambda: resets.append("a"), lambda: resets.append("b")])
    assert train(state) == 8
    assert_replicas_are_equal(net)
    assert resets == ["a", "b"] * (len(runs) - 1)
    return weights(net), runs


class Once:
    """Raises at one place of one step, and not again."""

    def __init__(self, step, place, error):
        self.due, self.error = (step, place), error

    def __call__(self, step, place):
        if (step, place) == self.due:
            self.due = None
            raise self.error


@pytest.mark.parametrize("place", ["before", "amid"])
@pytest.mark.parametrize("name", COMPRESSIONS)
def test_training_goes_on_from_the_last_commit(rank, name, place):
    failing = Once(5, place, hvd.HorovodInternalError("made up"))
    found, runs = trained(rank, name, failing)
    assert runs == [0, 4]
    assert torch.equal(found, trained(rank, name, lambda step, place: None)[0])


def test_ranks_may_fail_at_different_places_of_a_step(rank):
    # The exchange of step 4 ends with its backward pass, and then one rank takes the step.
    failing = Once(*((4, "amid") if rank else (5, "before")), hvd.HorovodInternalError("made up"))
    found, _ = trained(rank, "dgc", failing)
    assert torch.equal(found, trained(rank, "dgc", lambda step, place: None)[0])


def test_what_a_failed_step_left_is_not_saved(monkeypatch):
    net = model(seed=3)
    optimizer = distributed(net, COMPRESSIONS["dgc"])
    state = hvd.elastic.TorchState(net, optimizer, step=0)
    before = weights(net)
    with torch.no_grad():
        net[0].weight.add_(1.0)
    exchange = optimizer._weir_exchanges[0]  # Its step goes on, as it may on a GPU.

    def fail():
        raise hvd.HorovodInternalError("made up")

    with monkeypatch.context() as patch:
        patch.setattr(exchange, "report", fail)
        with pytest.raises(hvd.HorovodInternalError, match="made up"):
            state.commit()
    state.restore()
    assert torch.equal(weights(net), before)


def test_an_interrupt_restores_nothing(rank):
    failing = Once(5, "before", hvd.elastic.HostsUpdatedInterrupt())
    found, runs = trained(rank, "dgc", failing)
    assert runs == [0, 5]
    assert torch.equal(found, trained(rank, "dgc", lambda step, place: None)[0])


def test_where_the_job_cannot_be_entered_anew_the_first_error_is_raised(rank, monkeypatch):
    real_init = hvd.init

    def refuse(**arguments):
        real_init(**arguments)  # The tests that follow need it.
        raise ValueError("start the program again")

    monkeypatch.setattr("weir.torch.elastic._run.init", refuse)
    with pytest.raises(hvd.HorovodInternalError, match="made up") as raised:
        trained(rank, "none", Once(5, "before", hvd.HorovodInternalError("made up")))
    assert "start the program again" in str(raised.value.__cause__)


def test_a_mismatch_is_raised_to_the_user(rank):
    with pytest.raises(hvd.Mismatch, match="made up"):
        trained(rank, "none", Once(5, "before", hvd.Mismatch("made up")))


def test_one_rank_that_hears_of_hosts_interrupts_all(rank, size):
    state = hvd.elastic.TorchState(step=3)
    state.commit()
    if rank == size - 1:
        state.on_hosts_updated()
    state.step = 4
    with pytest.raises(hvd.elastic.HostsUpdatedInterrupt):
        state.commit()
    state.step = 5
    state.restore()
    assert state.step == 4


def test_values_are_copied_and_come_from_rank_0(rank):
    state = hvd.elastic.TorchState(values=[rank])
    state.values.append(7)
    state.restore()
    assert state.values == [rank]
    state.sync()
    assert state.values == [0]


def test_an_object_may_take_anothers_place(rank):
    """As in Horovod's state: later saves and synchronisations use the new one."""
    state = hvd.elastic.TorchState(torch.nn.Linear(1, 1), values=[1])
    state.model, state.values = torch.nn.Linear(2, 1), [2]
    torch.nn.init.constant_(state.model.weight, rank)
    state.sync()
    assert state.model.weight.tolist() == [[0, 0]]
    torch.nn.init.constant_(state.model.weight, 7)
    state.restore()
    assert state.model.weight.tolist() == [[0, 0]] and state.values == [2]


def test_an_object_that_cannot_be_saved_takes_nobodys_place():
    class Unsaved(torch.nn.Linear):
        def state_dict(self, *args, **kwargs):
            raise OSError("made up")

    former = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(former.weight, 3)
    state = hvd.elastic.TorchState(former)
    with pytest.raises(OSError, match="made up"):
        state.model = Unsaved(1, 1)
    assert state.model is former
    torch.nn.init.constant_(former.weight, 4)
    state.restore()
    assert former.weight.item() == 3


def test_a_plain_value_may_take_an_objects_place(rank):
    state = hvd.elastic.TorchState(torch.nn.Linear(1, 1), best=1)
    state.model, state.best = rank, torch.nn.Linear(1, 1)
    torch.nn.init.constant_(state.best.weight, rank)
    state.sync()
    assert state.model == 0 and state.best.weight.item() == 0


def test_a_state_handler_holds_one_object(rank):
    handler = hvd.elastic.state.ModelStateHandler(torch.nn.Linear(1, 1))
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, rank)
    handler.set_value(model)
    handler.sync()
    assert handler.value is model and model.weight.item() == 0


def test_reset_enters_the_job_anew(rank, size):
    sets = [hvd.add_process_set([0])] if size > 1 else []  # One of all ranks is the global one.
    hvd.elastic.reset()
    assert (hvd.rank(), hvd.size()) == (rank, size)
    for process_set in sets:
        assert process_set.included() == (rank == 0)
        hvd.remove_process_set(process_set)


def test_a_schedule_goes_on_with_its_own_optimizer(rank):
    net = model()
    optimizer = distributed(net, COMPRESSIONS["none"])
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    state = hvd.elastic.TorchState(net, optimizer, schedule=schedule)

    def step():
        optimizer.zero_grad()
        loss_of(net, 0, rank).backward()
        optimizer.step()
        schedule.step()

    step()
    state.commit()
    step()
    state.restore()
    assert state.schedule is schedule and schedule.optimizer is optimizer
    assert (schedule.last_epoch, optimizer.param_groups[0]["lr"]) == (1, 0.05)
    schedule.last_epoch += rank  # Rank 0's becomes everybody's.
    state.sync()
    step()
    assert (schedule.last_epoch, optimizer.param_groups[0]["lr"]) == (2, 0.025)


# --- ElasticSampler ---


def everyones(indices):
    return sorted(sum(hvd.allgather_object(list(indices)), []))


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_sampler_covers_all_samples_equally(rank, size, shuffle):
    sampler = hvd.elastic.ElasticSampler(range(12 * size - 1), shuffle=shuffle)
    mine = list(sampler)
    assert len(mine) == len(sampler) == (12 if size > 1 else 11)
    assert sorted(set(everyones(mine))) == list(range(12 * size - 1))
    sampler.set_epoch(1)
    assert (list(sampler) != mine) == shuffle


def test_a_sampler_goes_on_where_it_was(rank, size):
    sampler = hvd.elastic.ElasticSampler(range(8 * size))
    state = hvd.elastic.TorchState(sampler=sampler)
    first = list(sampler)
    for batch in range(2):
        sampler.record_batch(batch, batch_size=3)
    state.commit()
    assert sampler.processed_indices == set(first[:6]) and sampler.processed_num == 6 * size
    sampler.record_batch(2, batch_size=3)  # The last one has two samples.
    assert sampler.processed_indices == set(first)
    assert sampler.processed_num == 8 * size
    state.restore()
    state.sync()
    assert len(sampler) == 2 and sampler.processed_num == 6 * size
    assert everyones(sampler) == sorted(set(range(8 * size)) - set(everyones(first[:6])))
    again = hvd.elastic.ElasticSampler(range(8 * size))
    again.load_state_dict(sampler.state_dict())
    assert list(again) == list(sampler)
    sampler.set_epoch(1)
    assert len(sampler) == 8 and sampler.epoch == 1


def test_a_sampler_of_nothing_left():
    sampler = hvd.elastic.ElasticSampler(range(3))
    sampler.record_indices(range(3))
    sampler.reset()
    assert list(sampler) == [] and len(sampler) == 0


def test_operations_without_a_name_are_numbered_anew(rank, size):
    if rank == 0:
        hvd.allreduce_async(torch.ones(2))  # The others do not, as in a step that fails.
    hvd.elastic.reset()
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
