"""Trains a small network on handwritten digits, by NumPy alone, on all ranks of a job.

weirrun -np 2 python examples/09-numpy/train.py [--compression dgc]
"""

import argparse

import numpy
from sklearn.datasets import load_digits

import weir.numpy as wn

BATCH, RATE, MOMENTUM, HIDDEN = 32, 0.05, 0.9, 64


def made(random):
    return {"hidden": 0.1 * random.standard_normal((64, HIDDEN)), "hidden bias": numpy.zeros(HIDDEN),
            "output": 0.1 * random.standard_normal((HIDDEN, 10)), "output bias": numpy.zeros(10)}


def predicted(parameters, images):
    hidden = numpy.maximum(images @ parameters["hidden"] + parameters["hidden bias"], 0)
    return hidden, hidden @ parameters["output"] + parameters["output bias"]


def differentiated(parameters, images, labels):
    """Yields the gradient of the mean loss for each parameter, the last layer's first."""
    hidden, scores = predicted(parameters, images)
    shares = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[numpy.arange(len(labels)), labels] -= 1
    shares /= len(labels)
    yield "output", hidden.T @ shares
    yield "output bias", shares.sum(axis=0)
    back = (shares @ parameters["output"].T) * (hidden > 0)
    yield "hidden", images.T @ back
    yield "hidden bias", back.sum(axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compression", choices=["none", "dgc"], default="none")
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    wn.init()
    images, labels = load_digits(return_X_y=True)
    images, test_images, labels, test_labels = images[:-360] / 16, images[-360:] / 16, labels[:-360], labels[-360:]
    parameters = made(numpy.random.default_rng(0))
    dgc = options.compression == "dgc"
    gradients = wn.Gradients(parameters, {"compressor": "dgc", "density": 0.02, "momentum_mu": MOMENTUM} if dgc
                             else "none")
    velocity = {name: numpy.zeros_like(value) for name, value in parameters.items()}
    shuffle, sent, dense = numpy.random.default_rng(1), 0, 0
    steps = len(labels) // (BATCH * wn.size())
    for _ in range(options.epochs):
        order = shuffle.permutation(len(labels))  # The same on all ranks, each of which takes its part.
        for step in range(steps):
            rows = order[step * BATCH * wn.size():][wn.rank() * BATCH:][:BATCH]
            gradients.begin(RATE)
            for name, gradient in differentiated(parameters, images[rows], labels[rows]):
                gradients.submit(name, gradient)  # Is exchanged while the next one is computed.
            for name, update in gradients.finish().items():
                # With dgc, an update has the momentum in it.
                velocity[name] = update if dgc else MOMENTUM * velocity[name] + update
                parameters[name] -= RATE * velocity[name]
            sent += gradients.report.wire_bytes
            dense += gradients.report.dense_bytes
    correct = predicted(parameters, test_images)[1].argmax(axis=1) == test_labels
    if wn.rank() == 0:
        print(f"accuracy {correct.mean():.3f}, sent {sent / dense:.3f} of the gradients' bytes", flush=True)
    wn.shutdown()


if __name__ == "__main__":
    main()
