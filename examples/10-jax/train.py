"""Trains a small network on handwritten digits, by JAX and optax, on all ranks of a job.

weirrun -np 2 python examples/10-jax/train.py [--compression dgc]
"""

import argparse

import jax
import jax.numpy as jnp
import numpy
import optax
from sklearn.datasets import load_digits

import weir.jax as wj

BATCH, RATE, MOMENTUM, HIDDEN = 32, 0.05, 0.9, 64


def made(key):
    hidden, output = jax.random.split(key)
    return {"hidden": {"kernel": 0.1 * jax.random.normal(hidden, (64, HIDDEN)), "bias": jnp.zeros(HIDDEN)},
            "output": {"kernel": 0.1 * jax.random.normal(output, (HIDDEN, 10)), "bias": jnp.zeros(10)}}


def scores(parameters, images):
    hidden = jax.nn.relu(images @ parameters["hidden"]["kernel"] + parameters["hidden"]["bias"])
    return hidden @ parameters["output"]["kernel"] + parameters["output"]["bias"]


def loss(parameters, images, labels):
    return optax.softmax_cross_entropy_with_integer_labels(scores(parameters, images), labels).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compression", choices=["none", "dgc"], default="none")
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    wj.init()
    images, labels = load_digits(return_X_y=True)
    images, test_images, labels, test_labels = images[:-360] / 16, images[-360:] / 16, labels[:-360], labels[-360:]
    if options.compression == "dgc":  # It has the momentum in it.
        optimizer = wj.distributed(optax.sgd(RATE), {"compressor": "dgc", "density": 0.02, "momentum_mu": MOMENTUM},
                                   learning_rate=RATE)
    else:
        optimizer = wj.distributed(optax.sgd(RATE, momentum=MOMENTUM))
    parameters = wj.broadcast_parameters(made(jax.random.key(wj.rank())))
    state = optimizer.init(parameters)

    @jax.jit
    def step(parameters, state, images, labels):
        updates, state = optimizer.update(jax.grad(loss)(parameters, images, labels), state, parameters)
        return optax.apply_updates(parameters, updates), state

    shuffle, sent, dense = numpy.random.default_rng(1), 0, 0
    for _ in range(options.epochs):
        order = shuffle.permutation(len(labels))  # The same on all ranks, each of which takes its part.
        for number in range(len(labels) // (BATCH * wj.size())):
            rows = order[number * BATCH * wj.size():][wj.rank() * BATCH:][:BATCH]
            parameters, state = step(parameters, state, images[rows], labels[rows])
        sent += optimizer.report.wire_bytes  # Of the epoch's last step.
        dense += optimizer.report.dense_bytes
    correct = scores(parameters, test_images).argmax(axis=1) == test_labels
    if wj.rank() == 0:
        print(f"accuracy {correct.mean():.3f}, sent {sent / dense:.3f} of the gradients' bytes", flush=True)
    wj.shutdown()


if __name__ == "__main__":
    main()
