"""Training loops with more than one model: teachers, queues, contrasts, domains."""

import copy

import pytest
import torch
import torch.nn.functional as F

import weir.torch as hvd

from compared import COMPRESSIONS, Rank, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(parameters, **options):
    return torch.optim.SGD(parameters, **{"lr": 0.05, "momentum": 0.9, **options})


@torch.no_grad()
def follow(teacher, student, share=0.9):
    for old, new in zip(teacher.parameters(), student.parameters()):
        old.mul_(share).add_(new, alpha=1 - share)


def ema_teacher(world, steps=6):
    """Mean teacher: consistency with an average of the student's own past."""
    student = net(6, 8, 3)
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = world.wrapped(sgd(student.parameters()), student)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: F.mse_loss(student(noise(rank, step, 8, 6)),
                                           teacher(noise(rank, step + 50, 8, 6)))).backward()
        optimizer.step()
        follow(teacher, student)
    return [*student.parameters(), *teacher.parameters()]


def byol(world, steps=6):
    """Two views, a predictor, and a target that only follows."""
    online, predictor = net(6, 8, 4, seed=1), net(4, 8, 4, seed=2)
    slow = copy.deepcopy(online).requires_grad_(False)
    optimizer = world.wrapped(sgd([*online.parameters(), *predictor.parameters()]), online, predictor)

    def loss_of(rank, step):
        views = noise(rank, step, 8, 6), noise(rank, step, 8, 6) + 0.1
        pairs = [(predictor(online(one)), slow(other)) for one, other in (views, views[::-1])]
        return sum(2 - 2 * F.cosine_similarity(*pair).mean() for pair in pairs)

    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: loss_of(rank, step)).backward()
        optimizer.step()
        follow(slow, online)
    return [*online.parameters(), *predictor.parameters()]


def distillation(world, steps=6):
    """A frozen teacher in the same graph."""
    teacher, student = net(6, 16, 3, seed=1).requires_grad_(False), net(6, 8, 3, seed=2)
    optimizer = world.wrapped(sgd([p for p in [*teacher.parameters(), *student.parameters()]
                                   if p.requires_grad]), student)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: F.kl_div(student(noise(rank, step, 8, 6)).log_softmax(1),
                                         teacher(noise(rank, step, 8, 6)).softmax(1),
                                         reduction="batchmean")).backward()
        optimizer.step()
    return student.parameters()


def reversed_domain(world, steps=6):
    """DANN: a classifier of domains behind a layer that turns gradients round."""
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            return values.view_as(values)

        @staticmethod
        def backward(ctx, gradient):
            return -0.5 * gradient

    trunk, label, domain = net(6, 8, seed=1), net(8, 3, seed=2), net(8, 2, seed=3)
    optimizer = world.wrapped(sgd([p for m in (trunk, label, domain) for p in m.parameters()]),
                              trunk, label, domain)

    def loss_of(rank, step):
        features = trunk(noise(rank, step, 8, 6))
        return (label(features).square().mean()
                + F.cross_entropy(domain(Reverse.apply(features)), torch.arange(8) % 2))

    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: loss_of(rank, step)).backward()
        optimizer.step()
    return [*trunk.parameters(), *label.parameters(), *domain.parameters()]


def actor_critic(world, steps=8):
    """Two losses, two optimizers, one trunk that both reach; each has a backward pass."""
    trunk, actor, critic = net(6, 8, seed=1), net(8, 3, seed=2), net(8, 1, seed=3)
    of_actor = world.wrapped(sgd([*trunk.parameters(), *actor.parameters()]), trunk, actor)
    of_critic = world.wrapped(sgd(critic.parameters()), critic)
    for step in range(steps):
        of_actor.zero_grad()
        of_critic.zero_grad()
        world.mean(lambda rank: (critic(trunk(noise(rank, step, 8, 6)).detach()) - 1)
                   .square().mean()).backward()
        of_critic.step()
        world.mean(lambda rank: -(actor(trunk(noise(rank, step, 8, 6))).log_softmax(1)[:, 0]
                                  * critic(trunk(noise(rank, step, 8, 6))).squeeze(1)).mean()
                   ).backward()  # The critic's new gradients stay until its zero_grad().
        of_actor.step()
    return [*trunk.parameters(), *actor.parameters(), *critic.parameters()]


def averaged_weights(world, steps=8):
    """SWA: an average of the weights, which is used in the end."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    average = torch.optim.swa_utils.AveragedModel(model)
    schedule = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
    for step in range(steps):
        optimizer.zero_grad()
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        optimizer.step()
        if step > 2:
            average.update_parameters(model)
            schedule.step()
    return [*model.parameters(), *average.module.parameters()]


LOOPS = [ema_teacher, byol, distillation, reversed_domain, actor_critic, averaged_weights]


@every_compression
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loop(loop, compression):
    compare(loop, compression, rtol=1e-3, atol=1e-5)


def contrast(features, labels):
    scores = F.normalize(features, dim=1) @ F.normalize(labels, dim=1).t() / 0.5
    return F.cross_entropy(scores, torch.arange(len(scores)))


@pytest.mark.parametrize("compression", ["none", "dgc, all"])
def test_a_contrast_with_the_samples_of_all_ranks(rank, size, compression):
    """SimCLR: features are gathered, and gradients flow back through that."""
    def program(world, features_of):
        model = net(6, 8, 4)
        optimizer = world.wrapped(sgd(model.parameters()), model)
        for step in range(5):
            optimizer.zero_grad()
            views = [features_of(lambda r, more=more: model(noise(r, step, 4, 6) + more))
                     for more in (0.0, 0.1)]
            contrast(*views).backward()
            optimizer.step()
        return model.parameters()

    ours = list(program(Rank(COMPRESSIONS[compression]), lambda f: hvd.allgather(f(rank))))
    # Every rank has the loss of all samples, and gradients of its own alone: the mean of the ranks'
    # is that of the loss divided by their number, times what allgather's mean of gradients leaves.
    alone = net(6, 8, 4)
    reference = sgd(alone.parameters())
    for step in range(5):
        reference.zero_grad()
        views = [torch.cat([alone(noise(r, step, 4, 6) + more) for r in range(size)])
                 for more in (0.0, 0.1)]
        (contrast(*views) / size).backward()
        reference.step()
    for one, other in zip(ours, alone.parameters()):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_a_queue_of_negatives_from_all_ranks(rank, size):
    """MoCo: keys of a slow encoder, gathered without gradients into a queue."""
    query, key = net(6, 8, 4), net(6, 8, 4).requires_grad_(False)
    optimizer = Rank(COMPRESSIONS["dgc, 5 %"]).wrapped(sgd(query.parameters()), query)
    queue = noise(0, 999, 16, 4)
    for step in range(6):
        optimizer.zero_grad()
        keys = key(noise(rank, step, 4, 6))
        features = query(noise(rank, step, 4, 6))
        scores = torch.cat([(features * keys).sum(1, keepdim=True), features @ queue.t()], 1)
        F.cross_entropy(scores, torch.zeros(4, dtype=torch.long)).backward()
        optimizer.step()
        follow(key, query)
        queue = torch.cat([hvd.allgather(keys), queue])[:16]
    everyone = hvd.allgather(torch.cat([p.detach().flatten() for p in query.parameters()])[None])
    assert all(torch.equal(everyone[0], one) for one in everyone)
