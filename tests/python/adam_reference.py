"""Deep Gradient Compression of Adam's steps, of one tensor, written down plainly."""

import numpy as np

F = np.float32


class AdamReference:
    """All ranks at once. fp32, in the order of operations that the engine promises."""

    def __init__(self, n, ranks, density, betas=(0.9, 0.999), eps=1e-8):
        self.k = max(1, round(density * n))
        self.betas, self.eps = betas, F(eps)
        self.u, self.s, self.v = (
            [np.zeros(n, F) for _ in range(ranks)] for _ in range(3))
        self.steps = 0

    def step(self, gradients, rate):
        """Returns the values to subtract from the weights, the same on all ranks."""
        self.steps += 1
        beta1, beta2 = self.betas
        step_size = F(float(F(rate)) / (1 - beta1**self.steps))
        root = F(np.sqrt(1 - beta2**self.steps))
        total = np.zeros_like(self.v[0])
        for u, s, v, g in zip(self.u, self.s, self.v, gradients):
            u[:] = u + F(1 - beta1) * (g - u)
            s[:] = F(beta2) * s + F(1 - beta2) * (g * g)
            v += step_size * (u / (np.sqrt(s) / root + self.eps))
            # The K largest, ties by the lower index.
            sent = np.argsort(-np.abs(v), kind="stable")[:self.k]
            total[sent] += v[sent]
            v[sent] = 0
        return total / F(len(gradients))
