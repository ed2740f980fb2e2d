"""Local steps and outer steps of all ranks, computed in one process from DiLoCo's algorithm."""

import torch


class Alone:
    """Trains one model for each rank. `parts`: the numbers of the parameters of each fragment."""

    def __init__(self, nets, optimizers, every, parts, overlap=0, outer_lr=0.7, outer_momentum=0.5):
        self.nets, self.optimizers = nets, optimizers
        self.every, self.parts, self.overlap = every, parts, overlap
        self.outer_lr, self.outer_momentum = outer_lr, outer_momentum
        self.anchor = [parameter.detach().clone() for parameter in nets[0].parameters()]
        self.velocity = [torch.zeros_like(anchor) for anchor in self.anchor]
        self.sent = {}  # Of rounds that are under way: the step they end after, and what was sent.
        self.steps = 0

    @torch.no_grad()
    def after_local_steps(self):
        self.steps += 1
        for number, part in enumerate(self.parts):
            if self.sent.get(number, (None,))[0] == self.steps:
                self._end(part, self.sent.pop(number)[1])
            begins_at = (number + 1) * self.every // len(self.parts)
            if self.steps % self.every == begins_at % self.every:
                now = [[parameter.clone() for parameter in net.parameters()] for net in self.nets]
                if self.overlap:
                    self.sent[number] = self.steps + self.overlap, now
                else:
                    self._end(part, now)

    def _end(self, part, sent):
        for i in part:
            way = sum(self.anchor[i] - of_rank[i] for of_rank in sent) / len(sent)
            self.velocity[i] = self.outer_momentum * self.velocity[i] + way
            self.anchor[i] = self.anchor[i] - self.outer_lr * (way + self.outer_momentum * self.velocity[i])
            for net, of_rank in zip(self.nets, sent):
                parameter = list(net.parameters())[i]
                parameter.copy_(self.anchor[i] + (parameter - of_rank[i]))
