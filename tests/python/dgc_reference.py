"""Deep Gradient Compression of one tensor, written down plainly."""

import numpy as np


class Reference:
    """All ranks at once. fp32, in the order of operations that the engine promises. `masked`: as in the paper
    (Lin et al., ICLR 2018); otherwise momentum_masking=auto."""

    def __init__(self, n, ranks, density, momentum, nesterov, decay, masked=False):
        self.k = max(1, round(density * n))
        self.m, self.nesterov, self.masked = np.float32(momentum), nesterov, masked
        self.tail = np.float32(0) if masked else self.m / (np.float32(1) - self.m)
        self.decay = np.float32(decay)
        self.u = [np.zeros(n, np.float32) for _ in range(ranks)]
        self.v = [np.zeros(n, np.float32) for _ in range(ranks)]
        self.b = np.zeros(n, np.float32)

    def step(self, gradients, weights):
        """The update before the learning rate, the same on all ranks."""
        total = np.zeros_like(self.b)
        for rank, gradient in enumerate(gradients):
            u, v = self.u[rank], self.v[rank]
            if self.nesterov:
                u[:] = self.m * (u + gradient)
                v += u + gradient
            else:
                u[:] = self.m * u + gradient
                v += u
            # The K largest, ties by the lower index.
            sent = np.argsort(-np.abs(v + self.tail * u), kind="stable")[:self.k]
            total[sent] += v[sent]
            v[sent] = 0
            if self.masked:
                u[sent] = 0
        update = total / np.float32(len(gradients))
        if self.decay == 0:
            return update
        push = self.decay * weights
        if self.nesterov:
            self.b = self.m * (self.b + push)
            return update + (self.b + push)
        self.b = self.m * self.b + push
        return update + self.b
