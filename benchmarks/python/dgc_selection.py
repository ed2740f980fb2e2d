"""Entries that Deep Gradient Compression chooses (Lin et al., ICLR 2018), in NumPy: momentum correction
0.9, factor masking (momentum_masking=true), exactly K of each tensor, fp16 values whose rounding stays behind."""

import numpy

from route_bytes import entries

MOMENTUM = numpy.float32(0.9)
LARGEST_HALF = numpy.float32(65504)


def rounded(values):
    """Returns the decoded values: fp16 with one power of two that takes the largest magnitude into
    [2^15, 2^16)."""
    largest = numpy.max(numpy.abs(values))
    if largest == 0:
        return values
    exponent = int(numpy.clip(numpy.frexp(largest)[1] - 16, -125, 112))
    scaled = numpy.clip(numpy.ldexp(values, -exponent), -LARGEST_HALF, LARGEST_HALF)
    return numpy.ldexp(scaled.astype(numpy.float16).astype(numpy.float32), exponent)


def largest_entries(values, k):
    """The k of the largest magnitude, ties by the lower index, as booleans."""
    magnitudes = numpy.abs(values)
    last = numpy.partition(magnitudes, -k)[-k]
    chosen = magnitudes > last
    ties = numpy.flatnonzero(magnitudes == last)
    chosen[ties[:k - numpy.count_nonzero(chosen)]] = True
    return chosen


class Selection:
    """One rank's choices, step by step."""

    def __init__(self, tensors, density):
        self._density = density
        self._state = [None if tensor.travels_dense else
                       (numpy.zeros(tensor.elements, numpy.float32),
                        numpy.zeros(tensor.elements, numpy.float32)) for tensor in tensors]

    def step(self, gradients):
        """Returns [booleans by tensor], None for dense tensors. Gradients are flat fp32."""
        return [state and self._choose(*state, gradient)
                for state, gradient in zip(self._state, gradients)]

    def _choose(self, momentum, velocity, gradient):
        momentum *= MOMENTUM
        momentum += gradient
        velocity += momentum
        chosen = largest_entries(velocity, entries(len(velocity), self._density))
        velocity[chosen] -= rounded(velocity[chosen])
        momentum[chosen] = 0
        return chosen
