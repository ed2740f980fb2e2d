"""Programs that look at gradients, or change them, between the backward pass and the step."""

import pytest
import torch

import weir.torch as hvd

from compared import COMPRESSIONS, compare, needs_scaler, net, noise, scaled, two_models

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


CLIPPING = {
    "norm": lambda model: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05),
    "norm, by name": lambda model: torch.nn.utils.clip_grad_norm_(
        parameters=list(model.parameters()), max_norm=0.05),
    "value": lambda model: torch.nn.utils.clip_grad_value_(model.parameters(), 0.002),
    "one tensor": lambda model: torch.nn.utils.clip_grad_norm_(model[0].weight, 0.01),
}


def clipped(world, clip, steps=6):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        CLIPPING[clip](model)
        optimizer.step()
    return model.parameters()


@pytest.mark.parametrize("clip", CLIPPING)
def test_gradients_are_clipped(clip):
    compare(lambda world: clipped(world, clip), "none")


@pytest.mark.parametrize("clip", CLIPPING)
@pytest.mark.parametrize("compression", ["dgc, 5 %"])
def test_directions_of_dgc_are_clipped(clip, compression):
    compare(lambda world: clipped(world, clip), compression)


@needs_scaler
@every_compression
@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("overflows_in", [(), (2,), (0, 5)])
def test_a_scaler_steps_without_synchronize(unscales, overflows_in, compression):
    compare(lambda world: scaled(world, unscales, overflows_in), compression)


@pytest.mark.parametrize("dtype", [torch.bfloat16, pytest.param(
    torch.float16, marks=pytest.mark.skipif(torch.__version__.startswith("1."),
                                            reason="PyTorch 1 has only bfloat16 on the CPU"))])
@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
def test_autocast(dtype, compression):
    def program(world):
        model = net(6, 8, 3)
        optimizer = world.wrapped(sgd(model), model)
        for step in range(6):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=dtype):
                loss = world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean())
            loss.backward()
            optimizer.step()
        return model.parameters()
    compare(program, compression, rtol=0.05, atol=5e-3)


def sharpness_aware(world, steps=12, radius=0.05):
    """Foret et al., ICLR 2021: each step takes the gradient at the worst point nearby."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        def passes():
            optimizer.zero_grad()
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        passes()
        with torch.no_grad():
            norm = torch.stack([one.grad.norm() for one in model.parameters()]).norm()
            moves = [one.grad * (radius / norm) for one in model.parameters()]
            for one, move in zip(model.parameters(), moves):
                one.add_(move)
        passes()
        with torch.no_grad():
            for one, move in zip(model.parameters(), moves):
                one.sub_(move)
        optimizer.step()
    return model.parameters()


def norms_for_a_log(world, steps=12, passes=1, zeros=False, of_model=False):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    norms = []
    for step in range(steps):
        (model if of_model else optimizer).zero_grad(set_to_none=not zeros)
        for i in range(passes):
            world.mean(lambda rank: model(noise(rank, 10 * step + i, 8, 6)).square().mean()).backward()
            norms.append(torch.stack([one.grad.norm() for one in model.parameters()]))
        optimizer.step()
    return [*model.parameters(), *norms[-1]]


def clipped_by_hand(world, steps=12, replaced=False):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        for one in model.parameters():
            if replaced:
                one.grad = one.grad.clamp(-0.01, 0.01)
            else:
                one.grad.clamp_(-0.01, 0.01)
        optimizer.step()
    return model.parameters()


def read_while_others_compute(world, steps=12):
    """Both losses go backward before both steps, and the first gradients are read after the second."""
    first, second = net(6, 8, 3, seed=1), net(6, 8, 3, seed=2)
    of_first, of_second = world.wrapped(sgd(first), first), world.wrapped(sgd(second), second)
    norms = []
    for step in range(steps):
        of_first.zero_grad()
        of_second.zero_grad()
        for model in (first, second):
            world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        norms.append(torch.stack([one.grad.norm() for one in first.parameters()]))
        of_second.step()
        of_first.step()
    return [*first.parameters(), *second.parameters(), norms[-1]]


def norm_in_the_loss(world, steps=12):
    """A second pass differentiates gradients that the first one has left."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model), model)
    for step in range(steps):
        optimizer.zero_grad()
        loss = world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean())
        loss.backward(create_graph=True)
        # Of a constant, so that the loss of the mean is the mean of losses.
        sum((one.grad * 0.01).sum() for one in model.parameters()).backward()
        optimizer.step()
        for one in model.parameters():
            one.grad = None  # It holds the graph.
    return model.parameters()


READERS = {
    "sharpness-aware": sharpness_aware,
    "norms": norms_for_a_log,
    "norms, gradients kept as zeros": lambda world: norms_for_a_log(world, zeros=True),
    "norms, the model's zero_grad": lambda world: norms_for_a_log(world, of_model=True),
    "norms, the model's zeros": lambda world: norms_for_a_log(world, zeros=True, of_model=True),
    "norms after each of three passes": lambda world: norms_for_a_log(world, passes=3),
    "clipped by hand": clipped_by_hand,
    "replaced": lambda world: clipped_by_hand(world, replaced=True),
    "two losses before two steps": read_while_others_compute,
    "norm in the loss": norm_in_the_loss,
}


# DGC at density 1 shows the direction, momentum and all, where one process shows the gradient.
@pytest.mark.parametrize("compression", ["none", "dgc, 5 %"])
@pytest.mark.parametrize("reader", READERS)
def test_gradients_that_are_read_or_changed_before_the_step(reader, compression):
    compare(READERS[reader], compression)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Gradients with a graph.
@pytest.mark.parametrize("reader", ["norms", "norms after each of three passes",
                                    "two losses before two steps"])
def test_steps_of_dgc_whose_gradients_are_read(reader):
    compare(lambda world: READERS[reader](world)[:4], "dgc, all")


def test_results_are_the_same_after_as_many_steps_as_one_likes():
    """The first steps keep results apart; later ones do not."""
    compare(lambda world: sharpness_aware(world, steps=40), "none")
    compare(lambda world: norms_for_a_log(world, steps=40, passes=2), "none")


def test_a_gradient_of_float64_that_is_changed_too_early_is_named():
    """Its exchange cannot be taken back, and so begins in step()."""
    model = net(6, 8, 3).double()
    optimizer = hvd.DistributedOptimizer(sgd(model), model.named_parameters())
    for step in range(3):
        optimizer.zero_grad()
        model(noise(hvd.rank(), step, 8, 6).double()).square().mean().backward()
        model[2].weight.grad.mul_(0.5)
        with pytest.raises(ValueError, match="gradient of '2.weight' was changed between"):
            optimizer.step()
    optimizer.zero_grad()
    model(noise(hvd.rank(), 5, 8, 6).double()).square().mean().backward()
    optimizer.synchronize()
    model[2].weight.grad.mul_(0.5)
    with optimizer.skip_synchronize():
        optimizer.step()


@every_compression
def test_a_pass_that_fails_leaves_the_gradients_of_another_optimizer(compression):
    def program(world):
        first, second = net(6, 8, 3, seed=1), net(6, 8, 3, seed=2)
        of_first, of_second = world.wrapped(sgd(first), first), world.wrapped(sgd(second), second)
        for step in range(6):
            for optimizer in (of_first, of_second):
                optimizer.zero_grad()
            world.mean(lambda rank: first(noise(rank, step, 8, 6)).square().mean()).backward()
            loss = world.mean(lambda rank: second(noise(rank, step, 8, 6)).square().mean())
            loss.register_hook(lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                loss.backward()
            of_first.step()
        return first.parameters()
    compare(program, compression)


@every_compression
def test_losses_of_two_models_with_one_optimizer(compression):
    """Each pass is complete by itself; the step has two of them, also when eight steps were alike."""
    compare(lambda world: two_models(world, in_one_pass=False), compression)
