"""WEIR_VERIFY_EVERY: optimizers prove that all ranks have the same parameters."""

import pytest
import torch

import weir.torch as hvd
from weir.errors import Mismatch

from compared import net, noise
from crossing import needs_pytorch_2


@pytest.fixture(autouse=True)
def every_third_step(monkeypatch):
    with monkeypatch.context() as context:
        context.setenv("WEIR_VERIFY_EVERY", "3")
        hvd.shutdown()
        hvd.init()
        yield
    hvd.shutdown()
    hvd.init()


def made(model, compression="none", **arguments):
    return hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(),
                                    compression, **arguments)


def take_step(model, optimizer, step, rank):
    optimizer.zero_grad()
    model(noise(rank, step, 4, 6)).square().mean().backward()
    optimizer.step()


def failing_step(optimizer, model, rank, change=None, steps=9):
    """The step in which ranks hear that they differ, or None, and what they hear. `change` follows step 1."""
    for step in range(steps):
        try:
            take_step(model, optimizer, step, rank)
        except Mismatch as error:
            return step, str(error)
        if step == 1 and change is not None:
            change()
    return None, ""


def changed(parameter, rank, on):
    def change():
        if rank == on:
            with torch.no_grad():
                parameter.view(-1)[0] += 1e-3
    return change


@pytest.mark.parametrize("compression", ["none", "compressor=dgc,density=0.2,min_elements=1"])
def test_equal_replicas_train_on(rank, compression):
    model = net(6, 10, 3)
    assert failing_step(made(model, compression), model, rank)[0] is None


@pytest.mark.parametrize("compression", ["none", "compressor=dgc,density=0.2,min_elements=1"])
def test_a_parameter_that_one_rank_has_changed_is_named(rank, size, compression):
    if size == 1:
        pytest.skip("one rank has no other to differ from")
    model = net(6, 10, 3)
    name, parameter = list(model.named_parameters())[1]
    step, text = failing_step(made(model, compression), model, rank, changed(parameter, rank, size - 1))
    assert step == 3  # Three updates are behind it.
    assert f"'{name}'" in text and (f"on [{size - 1}]" if size > 2 else "on [0, 1]") in text, text


def test_replicas_that_were_never_equal(rank, size):
    if size == 1:
        pytest.skip("one rank has no other to differ from")
    torch.manual_seed(rank)
    model = torch.nn.Linear(6, 3)
    assert failing_step(made(model), model, rank)[0] == 3


@needs_pytorch_2
def test_a_step_that_does_not_wait(rank, size):
    model = net(6, 10, 3)
    assert failing_step(made(model, cross_barrier=True), model, rank)[0] is None
    if size > 1:
        model = net(6, 10, 3)
        change = changed(list(model.parameters())[0], rank, 0)
        assert failing_step(made(model, cross_barrier=True), model, rank, change)[0] == 3


def test_a_rank_that_has_joined_differs_in_nothing(rank, size):
    model = net(6, 10, 3)
    optimizer = made(model)
    assert failing_step(optimizer, model, rank, steps=2 if rank == size - 1 else 5)[0] is None
    hvd.join()


def test_local_steps_are_no_difference_but_anchors_are(rank, size):
    model = net(6, 10, 3)
    optimizer = hvd.Outer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), every=2,
                          compression="none")
    assert failing_step(optimizer, model, rank, steps=10)[0] is None
    if size == 1:
        return
    changed(optimizer._weir_fragments[0]._anchors[0], rank, 0)()
    assert failing_step(optimizer, model, rank, steps=10)[0] == 3  # In the seventh round, after six.


def test_one_rank_alone_may_save_what_a_round_under_way_belongs_to(rank):
    model = net(6, 10, 3)
    optimizer = hvd.Outer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), every=4, overlap=3,
                          compression="none")
    assert failing_step(optimizer, model, rank, steps=25)[0] is None  # A round, the seventh, is under way.
    if rank == 0:
        optimizer.state_dict()
    hvd.barrier()
    optimizer.synchronize()


def test_ranks_of_a_process_set(rank, size):
    if size == 1:
        pytest.skip("one rank has no other set")
    some = hvd.add_process_set(list(range(size // 2, size)))
    try:
        model = net(6, 10, 3, seed=1 + rank * (rank < size // 2))  # Who is alone has its own parameters.
        assert failing_step(made(model, process_set=some), model, rank)[0] is None
    finally:
        hvd.remove_process_set(some)


@needs_pytorch_2
def test_what_one_rank_looks_at_does_not_change_when_it_verifies(rank):
    model = net(6, 10, 3)
    optimizer = made(model, cross_barrier=True)
    for step in range(8):
        optimizer.zero_grad()
        model(noise(rank, step, 4, 6)).square().mean().backward()
        if rank == 0 and step % 2:
            model[0].weight.grad.norm()
        optimizer.step()


def test_ranks_that_differ_by_design_are_refused():
    model = net(6, 10, 3)
    with pytest.raises(ValueError, match="WEIR_VERIFY_EVERY with max_staleness"):
        made(model, "compressor=fp16,route=push_pull,max_staleness=2")


class Halved(hvd.Compressor):
    @staticmethod
    def compress(tensor):
        return tensor / 2, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor * 2


def test_what_cannot_be_verified_says_so_once(rank):
    model = net(6, 10, 3)
    optimizer = made(model, Halved)
    with pytest.warns(UserWarning, match="WEIR_VERIFY_EVERY has no effect") as warned:
        assert failing_step(optimizer, model, rank, steps=4)[0] is None
    assert sum("no effect" in str(one.message) for one in warned) == 1
