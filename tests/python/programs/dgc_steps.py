"""Directions of ``weir.torch`` on the gradients of dgc_steps.cc: the same file for the same arguments.

Several cases in one go, each in a word of its own: "FILE KIND OPTION...".
"""

import sys

import numpy
import torch

import weir.torch as hvd

STEPS = 30
SHAPES = [(64, 32), (7, 5, 11), (50,)]


def gradient(rank, step, tensor, shape):
    """As in dgc_steps.cc."""
    h = numpy.arange(numpy.prod(shape), dtype=numpy.uint32)
    h += numpy.uint32((rank * 69069 + step * 40503 + tensor * 7919) % 2**32)
    h = (h ^ (h >> 16)) * numpy.uint32(2246822519)
    h = (h ^ (h >> 13)) * numpy.uint32(3266489917)
    values = (((h ^ (h >> 16)) >> 8) * numpy.float32(2**-24)).astype(numpy.float32)
    return torch.from_numpy(values - numpy.float32(0.5)).view(shape)


def run(file, kind, *options):
    parameters = [torch.nn.Parameter(torch.zeros(shape)) for shape in SHAPES]
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=kind == "nesterov"),
        [(f"p{i}", parameter) for i, parameter in enumerate(parameters)],
        compression={"compressor": "dgc", **dict(option.split("=") for option in options)})
    found = []
    for step in range(STEPS):
        optimizer.zero_grad()
        torch.autograd.backward(parameters, [gradient(hvd.rank(), step, t, shape)
                                             for t, shape in enumerate(SHAPES)])
        optimizer.synchronize()
        found += [parameter.grad.flatten().numpy().copy() for parameter in parameters]
        with optimizer.skip_synchronize():
            optimizer.step()
    if hvd.rank() == 0:
        numpy.concatenate(found).tofile(file)


hvd.init()
for case in sys.argv[1:]:
    run(*case.split())
