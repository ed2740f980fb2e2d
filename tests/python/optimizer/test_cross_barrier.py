"""cross_barrier=True: step() does not wait, and training is what it is without."""

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, net, noise
from crossing import needs_pytorch_2, no_watch_is_left, take_step, waiting, wrapped  # noqa: F401

pytestmark = needs_pytorch_2
OPTIMIZERS = {
    "sgd": lambda groups: torch.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda groups: torch.optim.Adam(groups, lr=0.01),
    "adamw": lambda groups: torch.optim.AdamW(groups, lr=0.01, weight_decay=0.1, foreach=True),
    "rmsprop": lambda groups: torch.optim.RMSprop(groups, lr=0.01, momentum=0.5),
}
COMPRESSED = {**COMPRESSIONS, "fp16": hvd.Compression.fp16,
              "dgc, adam": hvd.Compression.dgc(density=0.2, momentum="adam", min_elements=1, policy="always"),
              "by name": {"compressor": "dgc", "density": 0.2, "min_elements": 1, "policy": "always",
                          "overrides": {"*.bias": {"compressor": "dense"}}}}


def groups_of(model):
    parameters = list(model.parameters())
    return [{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.02}]


def train(cross_barrier, optimizer="sgd", compression=hvd.Compression.none, steps=8, passes=1):
    """Returns all parameters after each step, and how many steps have returned before their updates."""
    model = net(6, 10, 8, 3)
    made = wrapped(OPTIMIZERS[optimizer](groups_of(model)), model, compression, cross_barrier,
                   backward_passes_per_step=passes)
    schedule = torch.optim.lr_scheduler.ExponentialLR(made, 0.9)
    trail, late = [], 0
    for step in range(steps):
        take_step(model, made, step, passes)
        late += all(parameter.grad is None for parameter in model.parameters())
        if "adam" not in str(compression):  # There the rate is a part of what travels.
            schedule.step()
        if step % 3 == 2:  # Other steps end in the next forward pass.
            trail += [tensor.clone() for tensor in model.state_dict().values()]
    trail += [tensor.clone() for tensor in model.state_dict().values()]
    return torch.cat([tensor.flatten() for tensor in trail]), late


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_same_bits_as_a_step_that_waits(optimizer):
    ours, late = train(True, optimizer)
    ordinary, never = train(False, optimizer)
    assert torch.equal(ours, ordinary)
    assert (late, never) == (7, 0)  # In the first step ranks agree on what gradients are like.


@pytest.mark.parametrize("compression", COMPRESSED)
def test_the_same_bits_with_compression(compression):
    optimizer = "adamw" if compression == "dgc, adam" else "sgd"
    ours, late = train(True, optimizer, COMPRESSED[compression])
    assert torch.equal(ours, train(False, optimizer, COMPRESSED[compression])[0])
    assert late == (0 if compression == "dgc, adam" else 7)
    everyone = hvd.allgather(ours[None])
    assert all(torch.equal(everyone[0], one) for one in everyone)


def test_the_same_bits_with_several_passes():
    assert torch.equal(train(True, passes=3)[0], train(False, passes=3)[0])


def test_a_step_returns_before_the_other_ranks_take_theirs(rank, size):
    model = net(6, 8, 3)
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    for step in range(10):
        take_step(model, optimizer, step)
    for step in range(10, 14):
        if rank == 0:
            take_step(model, optimizer, step)
        # If rank 0 waited for them in step(), this would wait for it.
        hvd.allreduce(torch.ones(1), name=f"rank 0 has returned from {step}")
        if rank != 0:
            take_step(model, optimizer, step)


def test_a_layer_waits_for_its_own_update_alone(rank):
    model = net(6, 8, 3)
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    for step in range(3):
        take_step(model, optimizer, step)
    assert waiting(model, optimizer) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    model[0](noise(rank, 0, 8, 6))
    assert waiting(model, optimizer) == ["2.weight", "2.bias"]
    model[2](noise(rank, 0, 8, 8))
    assert waiting(model, optimizer) == []


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("of_model", [True, False])
def test_zeroing_gradients_leaves_those_under_way(to_none, of_model):
    def trained(cross_barrier):
        model = net(6, 8, 3)
        optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model, cross_barrier=cross_barrier)
        for step in range(6):
            (model if of_model else optimizer).zero_grad(set_to_none=to_none)
            model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
            optimizer.step()
        return model.state_dict()
    for ours, ordinary in zip(trained(True).values(), trained(False).values()):
        assert torch.equal(ours, ordinary)


def test_clipping_makes_a_step_wait():
    def trained(cross_barrier):
        model = net(6, 8, 3)
        optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model, cross_barrier=cross_barrier)
        for step in range(6):
            optimizer.zero_grad()
            model(noise(hvd.rank(), step, 8, 6)).square().mean().backward()
            if step % 2:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()
        return model.state_dict()
    for ours, ordinary in zip(trained(True).values(), trained(False).values()):
        assert torch.equal(ours, ordinary)


def test_synchronize_applies_what_is_left():
    model = net(6, 8, 3)
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    for step in range(3):
        take_step(model, optimizer, step)
    assert waiting(model, optimizer)
    optimizer.synchronize()
    assert not waiting(model, optimizer)
    after = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.synchronize()
    assert all(torch.equal(one, other) for one, other in zip(after, model.parameters()))


def test_a_program_goes_on_with_the_model_when_the_job_is_left():
    def trained(cross_barrier):
        model = net(6, 8, 3)
        optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model, cross_barrier=cross_barrier)
        for step in range(4):
            take_step(model, optimizer, step)
        hvd.shutdown()
        parameters = [parameter.detach().clone() for parameter in model.parameters()]
        hvd.init()
        return parameters
    for ours, ordinary in zip(trained(True), trained(False)):
        assert torch.equal(ours, ordinary)


def test_a_program_goes_on_with_the_model_when_its_optimizer_is_gone():
    model, other = net(6, 8, 3), net(6, 8, 3)
    for trained, cross_barrier in [(model, True), (other, False)]:
        optimizer = wrapped(torch.optim.SGD(trained.parameters(), lr=0.1), trained, cross_barrier=cross_barrier)
        for step in range(4):
            take_step(trained, optimizer, step)
        del optimizer
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters()))


def test_unused_parameters(rank):
    def trained(cross_barrier):
        torch.manual_seed(1)
        model = torch.nn.ModuleList(torch.nn.Linear(6, 6) for _ in range(4))
        optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model,
                            cross_barrier=cross_barrier)
        for step in range(8):
            optimizer.zero_grad()
            first, second = model[step % 2], model[2 + (rank + step) % 2]
            second(first(noise(rank, step, 8, 6))).square().mean().backward()
            optimizer.step()
        return model.state_dict()
    for ours, ordinary in zip(trained(True).values(), trained(False).values()):
        assert torch.equal(ours, ordinary)


def test_saved_and_loaded_between_steps():
    def trained(cross_barrier):
        model = net(6, 8, 3)
        make = lambda: wrapped(torch.optim.Adam(model.parameters(), lr=0.01), model,  # noqa: E731
                               COMPRESSED["dgc, 5 %"], cross_barrier)
        optimizer = make()
        for step in range(3):
            take_step(model, optimizer, step)
        saved = optimizer.state_dict(), {name: value.clone() for name, value in model.state_dict().items()}
        for step in range(3, 6):
            take_step(model, optimizer, step)
        model.load_state_dict(saved[1])
        optimizer.load_state_dict(saved[0])
        for step in range(3, 6):
            take_step(model, optimizer, step)
        return model.state_dict()
    for ours, ordinary in zip(trained(True).values(), trained(False).values()):
        assert torch.equal(ours, ordinary)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_evaluation_between_steps_sees_the_updates(mode):
    def trained(cross_barrier):
        model = net(6, 8, 3)
        optimizer = wrapped(torch.optim.Adam(model.parameters(), lr=0.01), model, cross_barrier=cross_barrier)
        seen = []
        for step in range(5):
            take_step(model, optimizer, step)
            with mode():
                seen.append(model(noise(0, 99, 4, 6)).clone())
        return seen
    for ours, ordinary in zip(trained(True), trained(False)):
        assert torch.equal(ours, ordinary)


def test_hooks_of_a_step_are_called_once():
    model = net(6, 8, 3)
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    for step in range(4):
        take_step(model, optimizer, step)
    assert len(calls) == 4


def test_ranks_that_join_after_a_step(rank):
    def trained(cross_barrier):
        model = net(6, 8, 3)
        optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model, cross_barrier=cross_barrier)
        for step in range(3 + rank):
            take_step(model, optimizer, step)
        hvd.join()
        return [parameter.detach().clone() for parameter in model.parameters()]
    for ours, ordinary in zip(trained(True), trained(False)):
        assert torch.equal(ours, ordinary)


def test_a_new_parameter_group():
    def trained(cross_barrier):
        model, more = net(6, 8, 3), net(3, 2, seed=2)
        optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.Sequential(model, more),
                            cross_barrier=cross_barrier)
        for step in range(8):
            optimizer.zero_grad()
            outputs = model(noise(hvd.rank(), step, 8, 6))
            (more(outputs) if step > 3 else outputs).square().mean().backward()
            optimizer.step()
            if step == 3:
                optimizer.add_param_group({"params": more.parameters(), "lr": 0.2})
        return [*model.state_dict().values(), *more.state_dict().values()]
    for ours, ordinary in zip(trained(True), trained(False)):
        assert torch.equal(ours, ordinary)


class OwnStep(torch.optim.SGD):
    def step(self, closure=None):
        self.calls = getattr(self, "calls", 0) + 1
        return super().step(closure)


@pytest.mark.parametrize("make, match", [
    (lambda ps: torch.optim.LBFGS(ps), "may not be for LBFGS"),
    (lambda ps: OwnStep(ps, lr=0.1), "may not be for OwnStep"),
])
def test_optimizers_that_it_may_be_wrong_for_are_refused(make, match):
    model = net(6, 8, 3)
    with pytest.raises(ValueError, match=match):
        wrapped(make(model.parameters()), model)


def test_adasum_is_refused():
    model = net(6, 8, 3)
    with pytest.raises(ValueError, match="cross_barrier=True with op=Adasum"):
        wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model, op=hvd.Adasum)


def test_a_closure_is_evaluated_once_and_waited_for():
    model = net(6, 8, 3)
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = model(noise(hvd.rank(), len(losses), 8, 6)).square().mean()
        loss.backward()
        losses.append(loss)
        return loss

    for step in range(4):
        assert optimizer.step(closure) is losses[-1]
    assert len(losses) == 4
    assert next(model.parameters()).grad is not None
