"""Checkpoints of weir.accelerate, with what it needs of an Accelerator."""

import pytest
import torch

import weir.accelerate
import weir.torch as hvd

from by_ddp import sgd
from compared import flat, net, noise


class Accelerator:
    """Has prepared these optimizers, and calls the hooks as Accelerate does, with rank 0's states."""

    def __init__(self, *optimizers):
        self._optimizers = list(optimizers)
        self._save, self._load = [], []

    def register_save_state_pre_hook(self, hook):
        self._save.append(hook)

    def register_load_state_pre_hook(self, hook):
        self._load.append(hook)

    def save_state(self, folder):
        for hook in self._save:
            hook([], [], folder)
        hvd.barrier()
        return [hvd.broadcast_object(one.state_dict()) for one in self._optimizers]

    def load_state(self, folder, states):
        for hook in self._load:
            hook([], folder)
        for one, state in zip(self._optimizers, states):
            one.load_state_dict(state)


def job(models):
    wrappers = [torch.nn.parallel.DistributedDataParallel(model) for model in models]
    optimizers = [sgd(model) for model in models]
    accelerator = Accelerator(*optimizers)
    for wrapper, optimizer in zip(wrappers, optimizers):
        weir.accelerate.compress(accelerator, wrapper, optimizer, "dgc")
    return accelerator, wrappers, optimizers


def train(wrappers, optimizers, steps):
    for step in steps:
        for i, (wrapper, optimizer) in enumerate(zip(wrappers, optimizers)):
            optimizer.zero_grad()
            wrapper(noise(hvd.rank(), 10 * step + i, 8, 6)).square().mean().backward()
            optimizer.step()


@pytest.mark.skipif(torch.__version__.startswith("1."), reason="Accelerate needs PyTorch 2")
def test_each_optimizer_has_a_file_of_its_own_for_each_rank(tmp_path):
    folder = hvd.broadcast_object(str(tmp_path))
    straight, stopped, resumed = ([net(6, 20, 3, seed=i) for i in range(2)] for _ in range(3))
    train(*job(straight)[1:], range(8))
    first = job(stopped)
    train(*first[1:], range(4))
    states = first[0].save_state(folder)
    second = job(resumed)
    for mine, saved in zip(resumed, stopped):
        mine.load_state_dict(saved.state_dict())
    second[0].load_state(folder, states)
    train(*second[1:], range(4, 8))
    for one, other in zip(straight, resumed):
        assert torch.equal(flat(one.parameters()), flat(other.parameters()))
