"""Training loops whose models are changed, shared, frozen or rewritten."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch.nn.utils import parametrize

from compared import COMPRESSIONS, Mixture, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(parameters, **options):
    return torch.optim.SGD(parameters, **{"lr": 0.05, "momentum": 0.9, **options})


def fit(world, model, steps=6, forward=None, before=lambda step: None, parameters=None):
    optimizer = world.wrapped(sgd(parameters or model.parameters()), model)
    forward = forward or (lambda rank, step: model(noise(rank, step, 8, 6)))
    for step in range(steps):
        before(step)
        optimizer.zero_grad()
        world.mean(lambda rank: forward(rank, step).square().mean()).backward()
        optimizer.step()
    return model.parameters()


def unused_experts(world):
    model = Mixture()
    return fit(world, model, 10, lambda rank, step: model(noise(rank, step, 8, 6),
                                                          (rank + step // 3) % 4))


def heads_with_passes_of_their_own(world, steps=8):
    """Each task has its own loss, backward pass and head; a step has one of the tasks, or two."""
    trunk, heads = net(6, 8), torch.nn.ModuleList(net(8, 2, seed=5 + i) for i in range(3))
    optimizer = world.wrapped(sgd([*trunk.parameters(), *heads.parameters()]), trunk, heads)
    for step in range(steps):
        optimizer.zero_grad()
        for task in {step % 3, step // 2 % 3}:
            world.mean(lambda rank: heads[task](trunk(noise(rank, step, 8, 6))).square().mean()
                       ).backward()
        optimizer.step()
    return [*trunk.parameters(), *heads.parameters()]


def tied(world):
    """An embedding that is also the output layer."""
    torch.manual_seed(1)
    model = torch.nn.ModuleDict({"table": torch.nn.Embedding(12, 8), "middle": torch.nn.Linear(8, 8),
                                 "out": torch.nn.Linear(8, 12, bias=False)})
    model["out"].weight = model["table"].weight

    def forward(rank, step):
        tokens = torch.arange(step, step + 8) % 12
        scores = model["out"](model["middle"](model["table"](tokens)).tanh())
        return F.cross_entropy(scores, (tokens + rank) % 12).reshape(1)

    return fit(world, model, forward=forward)


class LowRank(torch.nn.Module):
    """LoRA: a frozen layer and two small factors beside it."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = torch.nn.Parameter(torch.full((2, base.in_features), 0.1))
        self.up = torch.nn.Parameter(torch.zeros(base.out_features, 2))

    def forward(self, inputs):
        return self.base(inputs) + inputs @ self.down.t() @ self.up.t()


def adapters(world):
    model = net(6, 8, 3)
    for place in (0, 2):
        model[place] = LowRank(model[place])
    return fit(world, model, parameters=[p for p in model.parameters() if p.requires_grad])


def normed_weights(world):
    model = net(6, 8, 3)
    torch.nn.utils.parametrizations.weight_norm(model[0]) if hasattr(
        torch.nn.utils.parametrizations, "weight_norm") else torch.nn.utils.weight_norm(model[0])
    return fit(world, model)


def spectral_norm(world):
    model = net(6, 8, 3)
    torch.nn.utils.parametrizations.spectral_norm(model[0])
    return fit(world, model.eval())  # Else each forward pass changes its buffers.


class Symmetric(torch.nn.Module):
    def forward(self, values):
        return values.triu() + values.triu(1).t()


def own_parametrization(world):
    model = net(6, 6, 3)
    parametrize.register_parametrization(model[0], "weight", Symmetric())
    return fit(world, model)


class Rounded(torch.autograd.Function):
    """Quantisation-aware training: rounds forward, and lets gradients through."""

    @staticmethod
    def forward(ctx, values):
        return (values * 16).round() / 16

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def quantisation_aware(world):
    model = net(6, 8, 3)

    def forward(rank, step):
        inputs = noise(rank, step, 8, 6)
        hidden = F.linear(inputs, Rounded.apply(model[0].weight), model[0].bias).tanh()
        return F.linear(Rounded.apply(hidden), Rounded.apply(model[2].weight), model[2].bias)

    return fit(world, model, forward=forward)


def unfrozen_step_by_step(world):
    """Layers thaw from the last to the first, as in fine-tuning."""
    model = net(6, 8, 8, 3)

    def before(step):
        for place, since in ((0, 6), (2, 3), (4, 0)):
            model[place].requires_grad_(step >= since)

    return fit(world, model, 10, before=before)


def layers_that_are_left_out(world):
    """Stochastic depth: each rank leaves out other layers in each step."""
    model = net(6, 8, 8, 8, 3)

    def forward(rank, step):
        hidden = model[0](noise(rank, step, 8, 6)).tanh()
        for place in (2, 4):
            if (rank + step) % 3 != place // 2:
                hidden = hidden + model[place](hidden).tanh()
        return model[6](hidden)

    return fit(world, model, 9, forward)


def groups_that_come_later(world, steps=8):
    model, more = net(6, 8), net(8, 3, seed=2)
    optimizer = world.wrapped(sgd(model.parameters()), model, more)
    for step in range(steps):
        if step == 3:
            optimizer.add_param_group({"params": list(more.parameters()), "lr": 0.02})
        optimizer.zero_grad()
        world.mean(lambda rank: more(model(noise(rank, step, 8, 6))).square().mean()).backward()
        if step < 3:
            more.zero_grad()
        optimizer.step()
    return [*model.parameters(), *more.parameters()]


def hooked_gradients(world):
    """Hooks of the program's own change gradients on their way."""
    model = net(6, 8, 3)
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient * 0.5)
    return fit(world, model)


def penalty_on_the_way_from_the_start(world):
    """Elastic weight consolidation: a penalty on the distance from former weights."""
    model = net(6, 8, 3)
    former = copy.deepcopy(model).requires_grad_(False)

    def forward(rank, step):
        distance = sum((new - old).square().sum()
                       for new, old in zip(model.parameters(), former.parameters()))
        return model(noise(rank, step, 8, 6)) + distance

    return fit(world, model, forward=forward)


def offloaded_activations(world):
    model = net(6, 8, 3)

    def forward(rank, step):
        with torch.autograd.graph.save_on_cpu():
            return model(noise(rank, step, 8, 6))

    return fit(world, model, forward=forward)


def batch_norm_and_dropout(world):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.ReLU(),
                                torch.nn.Dropout(0.0), torch.nn.Linear(8, 3))
    return fit(world, model)


LOOPS = [unused_experts, heads_with_passes_of_their_own, tied, adapters, normed_weights, spectral_norm,
         own_parametrization, quantisation_aware, unfrozen_step_by_step, layers_that_are_left_out,
         groups_that_come_later, hooked_gradients, penalty_on_the_way_from_the_start,
         offloaded_activations, batch_norm_and_dropout]


@every_compression
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loop(loop, compression):
    compare(loop, compression, rtol=1e-3, atol=1e-5)
