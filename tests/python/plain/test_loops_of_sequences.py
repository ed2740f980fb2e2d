"""Training loops that accumulate, cut or repeat backward passes."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from compared import COMPRESSIONS, compare, net, noise

every_compression = pytest.mark.parametrize("compression", COMPRESSIONS)


def sgd(parameters, **options):
    return torch.optim.SGD(parameters, **{"lr": 0.05, "momentum": 0.9, **options})


class Sequence(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.recurrent = torch.nn.LSTM(4, 6, batch_first=True)
        self.out = torch.nn.Linear(6, 2)

    def forward(self, inputs, state=None):
        hidden, state = self.recurrent(inputs, state)
        return self.out(hidden), state


def cut(state):
    return tuple(part.detach() for part in state)


def truncated(world, steps=4, pieces=3):
    """Truncated backpropagation through time, with a step after each piece."""
    model = Sequence()
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(steps):
        states = {}
        for piece in range(pieces):
            def loss_of(rank):
                outputs, state = model(noise(rank, 10 * step + piece, 3, 5, 4), states.get(rank))
                states[rank] = cut(state)
                return outputs.square().mean()

            optimizer.zero_grad()
            world.mean(loss_of).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)
            optimizer.step()
    return model.parameters()


def truncated_and_summed(world, steps=4, pieces=3):
    """The same with one step for all pieces, whose gradients add up; nobody has announced that."""
    model = Sequence()
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(steps):
        states = {}
        optimizer.zero_grad()
        for piece in range(pieces):
            def loss_of(rank):
                outputs, state = model(noise(rank, 10 * step + piece, 3, 5, 4), states.get(rank))
                states[rank] = cut(state)
                return outputs.square().mean()

            world.mean(loss_of).backward()
        optimizer.step()
    return model.parameters()


def several_losses_of_one_graph(world, steps=5):
    """Each loss has its own backward pass over a graph that is kept."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(steps):
        optimizer.zero_grad()
        outputs = world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean(0))
        for column in range(3):
            outputs[column].backward(retain_graph=column < 2)
        optimizer.step()
    return model.parameters()


def short_last_round(world, rounds=(2, 2, 2, 1, 2, 1)):
    """Accumulation over rounds that differ in length; the program divides the loss itself."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    batch = 0
    for passes in rounds:
        optimizer.zero_grad()
        for _ in range(passes):
            world.mean(lambda rank: model(noise(rank, batch, 8, 6)).square().mean() / passes
                       ).backward()
            batch += 1
        optimizer.step()
    return model.parameters()


def zeroed_late(world, steps=6):
    """zero_grad() stands behind step()."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(steps):
        world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    return model.parameters()


def closures(world, steps=5):
    model = net(6, 8, 3)
    optimizer = world.wrapped(sgd(model.parameters()), model)
    for step in range(steps):
        def closure():
            optimizer.zero_grad()
            loss = world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean())
            loss.backward()
            return loss

        optimizer.step(closure)
    return model.parameters()


def checkpointed(reentrant, times):
    def loop(world, steps=5):
        """A layer that is recomputed in the backward pass, and used several times."""
        first, shared, last = net(6, 8), net(8, 8, seed=2), net(8, 3, seed=3)
        optimizer = world.wrapped(sgd([p for m in (first, shared, last) for p in m.parameters()]),
                                  first, shared, last)

        def loss_of(rank, step):
            hidden = first(noise(rank, step, 8, 6))
            for _ in range(times):
                hidden = checkpoint(shared, hidden, use_reentrant=reentrant)
            return last(hidden).square().mean()

        for step in range(steps):
            optimizer.zero_grad()
            world.mean(lambda rank: loss_of(rank, step)).backward()
            optimizer.step()
        return [*first.parameters(), *shared.parameters(), *last.parameters()]

    loop.__name__ = f"checkpointed_{'with' if reentrant else 'without'}_reentry_{times}"
    return loop


LOOPS = [truncated, truncated_and_summed, several_losses_of_one_graph, short_last_round, zeroed_late,
         closures, *(checkpointed(reentrant, times) for reentrant in (False, True)
                     for times in (1, 3))]


@every_compression
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_loop(loop, compression):
    if loop is truncated and compression == "dgc, all":
        pytest.skip("clipping acts on DGC's direction, and on a plain optimizer's gradient")
    compare(loop, compression, rtol=1e-3, atol=1e-5)
