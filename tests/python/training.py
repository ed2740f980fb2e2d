"""A small model and its training, for tests of the optimizer and of compression."""

import torch

import weir.torch as hvd


def model(seed=7):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(12, 40), torch.nn.Tanh(), torch.nn.Linear(40, 4))


def batch(step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return (torch.randn(8, 12, generator=generator),
            torch.randint(0, 4, (8,), generator=generator))


def loss_of(net, step, rank):
    inputs, labels = batch(step, rank)
    return torch.nn.functional.cross_entropy(net(inputs), labels)


def weights(net):
    return torch.cat([parameter.detach().flatten() for parameter in net.parameters()])


def assert_replicas_are_equal(net):
    everyone = hvd.allgather(weights(net)[None])
    assert all(torch.equal(everyone[0], one) for one in everyone)
