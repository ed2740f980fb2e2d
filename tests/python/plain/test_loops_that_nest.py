"""Training loops with passes within passes: meta-learning, attacks, penalties on gradients."""

import copy

import pytest
import torch
import torch.nn.functional as F

from compared import COMPRESSIONS, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(parameters, **options):
    return torch.optim.SGD(parameters, **{"lr": 0.05, "momentum": 0.9, **options})


def target(rank, step):
    return noise(rank, 500 + step, 8, 3)


def maml(world, steps=6):
    """The loss after a step of the inner loop, differentiated through that step."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)

    def outer(rank, step):
        fast = dict(model.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(torch.func.functional_call(model, fast, noise(rank, step, 8, 6)),
                              target(rank, step))
            gradients = torch.autograd.grad(loss, fast.values(), create_graph=True)
            fast = {name: value - 0.1 * gradient
                    for (name, value), gradient in zip(fast.items(), gradients)}
        return F.mse_loss(torch.func.functional_call(model, fast, noise(rank, 50 + step, 8, 6)),
                          target(rank, 50 + step))

    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: outer(rank, step)).backward()
        optimizer.step()
    return model.parameters()


def reptile(world, steps=5):
    """Gradients are the way that a copy has gone in an inner loop; no backward pass makes them."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters(), momentum=0.0), model)
    for step in range(steps):
        def ways(rank):
            inner = copy.deepcopy(model)
            plain = torch.optim.SGD(inner.parameters(), lr=0.1)
            for part in range(3):
                plain.zero_grad()
                F.mse_loss(inner(noise(rank, 10 * step + part, 8, 6)), target(rank, step)).backward()
                plain.step()
            return torch.cat([(old - new).detach().flatten()
                              for old, new in zip(model.parameters(), inner.parameters())])

        flat = world.mean(ways)
        for parameter in model.parameters():
            parameter.grad, flat = flat[:parameter.numel()].view_as(parameter).clone(), \
                flat[parameter.numel():]
        optimizer.step()
    return model.parameters()


def fgsm(world, steps=6):
    """Adversarial training: a backward pass for the inputs alone, whose other gradients are dropped."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(steps):
        def attacked(rank):
            inputs = noise(rank, step, 8, 6).requires_grad_()
            F.mse_loss(model(inputs), target(rank, step)).backward()
            return (inputs + 0.1 * inputs.grad.sign()).detach()

        batches = {}

        def loss_of(rank):
            batches[rank] = attacked(rank)
            return torch.zeros(())

        world.mean(loss_of)
        optimizer.zero_grad()
        world.mean(lambda rank: F.mse_loss(model(batches[rank]), target(rank, step))).backward()
        optimizer.step()
    return model.parameters()


def pgd(world, steps=5):
    """The same with several steps and torch.autograd.grad."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)

    def loss_of(rank, step):
        inputs = noise(rank, step, 8, 6)
        attacked = inputs.clone()
        for _ in range(3):
            attacked.requires_grad_()
            gradient, = torch.autograd.grad(F.mse_loss(model(attacked), target(rank, step)), attacked)
            attacked = (attacked + 0.05 * gradient.sign()).detach()
        return F.mse_loss(model(attacked), target(rank, step))

    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: loss_of(rank, step)).backward()
        optimizer.step()
    return model.parameters()


def wgan_gp(world, steps=18, critic_steps=5):
    """A penalty on the critic's gradient, with a graph of its own."""
    generator, critic = net(6, 8, 4, seed=1), net(4, 8, 1, seed=2)
    of_g = world.wrapped(torch.optim.SGD(generator.parameters(), lr=0.05), generator)
    of_d = world.wrapped(sgd(critic.parameters()), critic)

    def critics(rank, step):
        real, fake = noise(rank, 300 + step, 8, 4), generator(noise(rank, step, 8, 6)).detach()
        between = (real + fake).div(2).requires_grad_()
        gradient, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        return (critic(fake).mean() - critic(real).mean()
                + 10 * (gradient.norm(dim=1) - 1).square().mean())

    for step in range(steps):
        of_d.zero_grad()
        world.mean(lambda rank: critics(rank, step)).backward()
        of_d.step()
        if step % critic_steps == critic_steps - 1:
            of_g.zero_grad()
            world.mean(lambda rank: -critic(generator(noise(rank, step, 8, 6))).mean()).backward()
            of_g.step()
    return [*generator.parameters(), *critic.parameters()]


def gradient_penalty(world, steps=6):
    """The norm of the loss's own gradient is part of the loss: a double backward pass."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)

    def loss_of(rank, step):
        loss = F.mse_loss(model(noise(rank, step, 8, 6)), target(rank, step))
        gradients = torch.autograd.grad(loss, model.parameters(), create_graph=True)
        return loss + 0.1 * sum(gradient.square().sum() for gradient in gradients)

    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: loss_of(rank, step)).backward()
        optimizer.step()
    return model.parameters()


def gradient_surgery(world, steps=6):
    """PCGrad: gradients of two tasks, of which one may lose what contradicts the other. The program
    writes .grad itself."""
    model = net(6, 8, 2)
    optimizer = world.wrapped(sgd(model.parameters(), momentum=0.0), model)

    def surgery(rank, step):
        outputs = model(noise(rank, step, 8, 6))
        one, other = (torch.cat([gradient.flatten() for gradient in torch.autograd.grad(
            outputs[:, task].square().mean(), model.parameters(), retain_graph=True)])
            for task in range(2))
        overlap = torch.dot(one, other)
        return one + other - (overlap.clamp(max=0) / other.square().sum()) * other

    for step in range(steps):
        optimizer.zero_grad()
        flat = world.mean(lambda rank: surgery(rank, step))
        for parameter in model.parameters():
            parameter.grad, flat = flat[:parameter.numel()].view_as(parameter).clone(), \
                flat[parameter.numel():]
        optimizer.step()
    return model.parameters()


def functional_gradients(world, steps=5):
    """torch.func computes the gradients, sample by sample."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    parameters = dict(model.named_parameters())

    def loss_of(values, inputs, wanted):
        return F.mse_loss(torch.func.functional_call(model, values, inputs[None])[0], wanted)

    def gradients_of(rank, step):
        each = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(
            {name: value.detach() for name, value in parameters.items()}, noise(rank, step, 8, 6),
            target(rank, step))
        return torch.cat([each[name].mean(0).flatten() for name in parameters])

    for step in range(steps):
        flat = world.mean(lambda rank: gradients_of(rank, step))
        for parameter in parameters.values():
            parameter.grad, flat = flat[:parameter.numel()].view_as(parameter).clone(), \
                flat[parameter.numel():]
        optimizer.step()
    return model.parameters()


LOOPS = [maml, reptile, fgsm, pgd, wgan_gp, gradient_penalty, gradient_surgery, functional_gradients]


@every_compression
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loop(loop, compression):
    if not hasattr(torch, "func") and loop in (maml, functional_gradients):
        pytest.skip("torch.func came with PyTorch 2")
    compare(loop, compression, rtol=1e-3, atol=1e-5)
