"""A plain PyTorch program, and the same one in a single process on the mean of all ranks' losses.

A program is a function of a ``World``. It makes its models and optimizers, wraps each optimizer by
``world.wrapped``, computes each loss by ``world.mean`` of a function of the rank, and returns the
tensors that must be equal in the end. Nothing else of it knows of ranks.
"""

import contextlib
import warnings

import pytest
import torch

import weir.torch as hvd

# Density 1 sends all, so that results are those of dense training; at 5 % only what no compressor
# changes can be compared.
COMPRESSIONS = {
    "none": hvd.Compression.none,
    "dgc, all": hvd.Compression.dgc(density=1.0, values="fp32", min_elements=1, policy="always",
                                    momentum_masking=False),
    "dgc, 5 %": hvd.Compression.dgc(density=0.05, values="fp32", min_elements=1, policy="always"),
}


_CROSSING = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad)


class Alone:
    """One process that has all ranks' data."""

    def __init__(self, size):
        self.size = size

    def wrapped(self, optimizer, *models):
        return optimizer

    def no_sync(self):
        return contextlib.nullcontext()

    def mean(self, loss_of):
        return sum(loss_of(rank) for rank in range(self.size)) / self.size


class Rank:
    """One rank of a job."""

    crosses = False  # With cross_barrier, where an optimizer can have that.

    def __init__(self, compression):
        self.compression = compression

    def wrapped(self, optimizer, *models):
        named = [(f"{number}.{name}", parameter) for number, model in enumerate(models)
                 for name, parameter in model.named_parameters()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # What is taken over from the optimizer.
            return hvd.DistributedOptimizer(optimizer, named or None, self.compression,
                                            cross_barrier=self.crosses and type(optimizer) in _CROSSING)

    def mean(self, loss_of):
        return loss_of(hvd.rank())


def flat(results):
    return torch.cat([_whole(one).detach().flatten().double() for one in results])


def _whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def compare(program, compression, rtol=1e-4, atol=1e-6, rank=Rank):
    """Runs both, and compares what can be said of the compression."""
    ours = flat(program(rank(COMPRESSIONS[compression])))
    everyone = hvd.allgather(ours[None])
    assert all(torch.equal(everyone[0], one) for one in everyone), "replicas differ"
    assert ours.isfinite().all()
    if compression == "dgc, 5 %":
        return
    torch.testing.assert_close(ours, flat(program(Alone(hvd.size()))), rtol=rtol, atol=atol)


def net(*sizes, seed=1):
    """A perceptron of such widths."""
    torch.manual_seed(seed)
    layers = []
    for width, after in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(width, after), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def noise(rank, step, *shape):
    """A batch of this rank in this step."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1000 * step + rank))


# --- programs that several tests compare ---


class Mixture(torch.nn.Module):
    """Experts, of which a batch uses one: most are without a gradient on a rank, some on all."""

    def __init__(self, experts=4):
        super().__init__()
        torch.manual_seed(1)
        self.first = torch.nn.Linear(6, 8)
        self.experts = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(experts))
        self.last = torch.nn.Linear(8, 3)

    def forward(self, inputs, which):
        return self.last(self.experts[which](self.first(inputs).tanh()).tanh())


needs_scaler = pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"),
                                  reason="before PyTorch 2.3 it is for CUDA alone")


def scaled(world, unscales, overflows_in=(), weight_decay=0.0, steps=8):
    """Trains with a loss scale, and with infinite losses of rank 0 in some steps."""
    model = net(6, 8, 3)
    optimizer = world.wrapped(torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9,
                                              weight_decay=weight_decay), model)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    for step in range(steps):
        optimizer.zero_grad()
        factor = float("inf") if step in overflows_in else 1.0
        loss = world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean()
                          * (factor if rank == 0 else 1.0))
        scaler.scale(loss).backward()
        if unscales:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        scaler.step(optimizer)
        scaler.update()
    return [*model.parameters(), torch.tensor(scaler.get_scale())]


def two_models(world, in_one_pass):
    """Two models with one optimizer, for more steps than it takes to expect that steps are alike."""
    first, second = net(6, 8, 3, seed=1), net(6, 8, 3, seed=2)
    optimizer = world.wrapped(torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05,
                                              momentum=0.9), first, second)
    for step in range(24):
        optimizer.zero_grad()
        losses = [world.mean(lambda rank: model(noise(rank, step, 8, 6)).square().mean())
                  for model in (first, second)]
        for loss in [sum(losses)] if in_one_pass else losses:
            loss.backward()
        optimizer.step()
    return [*first.parameters(), *second.parameters()]
