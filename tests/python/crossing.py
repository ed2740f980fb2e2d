"""Training with cross_barrier=True, for its tests."""

import warnings

import weir.torch as hvd

from compared import noise


def wrapped(optimizer, model, compression=hvd.Compression.none, cross_barrier=True, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # What is taken over from the optimizer.
        return hvd.DistributedOptimizer(optimizer, model.named_parameters(), compression,
                                        cross_barrier=cross_barrier, **arguments)


def take_step(model, optimizer, step, passes=1):
    optimizer.zero_grad()
    for part in range(passes):
        model(noise(hvd.rank(), 10 * step + part, 8, 6)).square().mean().backward()
    optimizer.step()


def waiting(model, optimizer):
    """The parameters whose updates are under way, or not applied. Reading one would apply its update."""
    return [name for name, parameter in model.named_parameters() if parameter in optimizer._weir_late]
