"""Who reads a parameter while its update is under way (cross_barrier=True)."""

import copy
import io

import pytest
import torch

from compared import net, noise
from crossing import needs_pytorch_2, no_watch_is_left, take_step, waiting, wrapped  # noqa: F401

pytestmark = needs_pytorch_2
READS = {
    "a function": lambda weight, model: torch.nn.functional.linear(torch.ones(6), weight),
    "a list": lambda weight, model: torch._foreach_norm([weight]),
    "a keyword": lambda weight, model: torch.add(input=torch.ones(()), other=weight),
    "a view": lambda weight, model: weight.data,
    "a copy": lambda weight, model: copy.deepcopy(weight),
    "a pickle": lambda weight, model: torch.save(weight, io.BytesIO()),
    "an average": lambda weight, model: torch.optim.swa_utils.AveragedModel(model).update_parameters(model),
    "its memory": lambda weight, model: weight.data_ptr(),
    "a change": lambda weight, model: torch.nn.init.zeros_(weight),
    "printing": lambda weight, model: str(weight),
}


@pytest.mark.parametrize("read", READS)
def test_who_reads_a_parameter_finds_its_update(read):
    model = net(6, 8, 3)
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    for step in range(3):
        take_step(model, optimizer, step)
    weight = model[0].weight
    assert (weight.shape, weight.requires_grad, weight.grad, weight.numel()) == ((8, 6), True, None, 48)
    assert "0.weight" in waiting(model, optimizer)
    READS[read](weight, model)
    assert "0.weight" not in waiting(model, optimizer)


def test_modes_of_the_program_stay_in_its_order(rank):
    class Counted(torch.overrides.TorchFunctionMode):
        calls = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            Counted.calls += 1
            return function(*args, **(kwargs or {}))

    model = net(6, 8, 3)
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    with Counted():
        for step in range(4):
            take_step(model, optimizer, step)
    calls = Counted.calls
    model(noise(rank, 0, 8, 6))
    assert Counted.calls == calls


@torch.jit.script
def scripted(inputs, weight):  # What is in it is not seen from outside.
    return inputs * weight.flatten()


class Tied(torch.nn.Module):
    """Uses parameters a second time, without their modules."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.table = torch.nn.Embedding(9, 6)
        self.middle = torch.nn.Linear(6, 6)
        self.scale = torch.nn.Linear(1, 6, bias=False)

    def forward(self, words, through_scale, scales):
        found = self.table(words)
        if through_scale:
            found = found + self.scale(torch.ones(1))
        return torch.nn.functional.linear(scales(self.middle(found), self.scale.weight), self.table.weight)


@pytest.mark.parametrize("scales", [scripted, lambda inputs, weight: inputs * weight.flatten()])
def test_parameters_that_are_used_without_their_module(rank, scales):
    def trained(cross_barrier):
        model = Tied()
        optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model, cross_barrier=cross_barrier)
        for step in range(8):
            optimizer.zero_grad()
            # From the start, or from some step on.
            through_scale = scales is not scripted and step < 4
            model(torch.arange(4) + (rank + step) % 5, through_scale, scales).square().mean().backward()
            optimizer.step()
        return model.state_dict()
    for ours, ordinary in zip(trained(True).values(), trained(False).values()):
        assert torch.equal(ours, ordinary)


def test_a_parameter_that_is_read_too_early_is_named(rank):
    model = Tied()
    optimizer = wrapped(torch.optim.SGD(model.parameters(), lr=0.1), model)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.arange(4), True, scripted).square().mean().backward()
        optimizer.step()
    optimizer.zero_grad()
    with pytest.raises(ValueError, match="'scale.weight' was used in a forward pass before its update"):
        model(torch.arange(4), False, scripted).square().mean().backward()
    optimizer.zero_grad()
    optimizer.synchronize()
