"""The gradients of a model without the model: passes that sleep, and hand them out backward."""

import random
import time

import torch

NOISE = 1 << 22
CHUNK = 1 << 20


class _Handover(torch.autograd.Function):
    """One layer: nothing forward, its gradients backward."""

    @staticmethod
    def forward(context, model, index, chain, *_):
        context.model, context.index = model, index
        return chain.clone()

    @staticmethod
    def backward(context, chain):
        return (None, None, chain, *context.model.gradients_of(context.index))


class Gradients:
    """Memory that all models of one set and rank share: parameters, and the next step's gradients. They
    are normal numbers, different on every rank; each step draws anew which layer gets which."""

    def __init__(self, layers, rank):
        self.layers = layers
        self.parameters = [[torch.zeros(shape) for shape in layer.shapes] for layer in layers]
        self.gradients = [[torch.empty(shape) for shape in layer.shapes] for layer in layers]
        self._noise = torch.randn(NOISE, generator=torch.Generator().manual_seed(rank))
        self._random = random.Random(rank)

    def refresh(self):
        """One copy of all gradients: drawing new numbers would take longer than most exchanges."""
        for layer in self.gradients:
            for gradient in layer:
                for chunk in gradient.view(-1).split(CHUNK):
                    begin = self._random.randrange(NOISE - CHUNK)
                    chunk.copy_(self._noise[begin:begin + len(chunk)])


class _Layer(torch.nn.Module):
    """A layer with parameters of its own."""

    def __init__(self, model, index, tensors):
        super().__init__()
        self._of = [model]  # Not a module of this one.
        self._index = index
        for number, tensor in enumerate(tensors):
            self.register_parameter(f"p{number}", torch.nn.Parameter(tensor.detach()))

    def forward(self, chain):
        model, = self._of
        model.sleep_in_forward(self._index)
        return _Handover.apply(model, self._index, chain, *self.parameters())


class Replay(torch.nn.Module):
    """A chain of layers whose gradients become ready one after the other, the last layer's first. A
    layer's part of a pass's time is its part of the set's arithmetic. The processor sleeps all that time,
    as it does while an accelerator works. Not for use by several threads."""

    def __init__(self, store):
        super().__init__()
        self._store = store
        self.layers = torch.nn.ModuleList(
            _Layer(self, index, tensors) for index, tensors in enumerate(store.parameters))
        work = [layer.work for layer in store.layers]
        self._parts = [one / sum(work) for one in work]
        # Elapsed part of the backward pass when a layer's gradients are ready.
        self.ready = [sum(work[i:]) / sum(work) for i in range(len(work))]
        self.backprop = 0.0  # Seconds of the backward pass,
        self.forwards = 0.0  # and of the forward pass.
        self._begin = 0.0

    def forward(self, chain):
        for layer in self.layers:
            chain = layer(chain)
        return chain

    def sleep_in_forward(self, index):
        if self.forwards:
            time.sleep(self.forwards * self._parts[index])

    def start_backprop(self):
        """The backward pass begins now."""
        self._begin = time.perf_counter()

    def gradients_of(self, index):
        """Returns the gradients of a layer's backward pass, when it is ready. Without a copy: they
        become the parameters' `.grad`, and an exchange in place overwrites them."""
        if self.backprop:
            ready = self._begin + self.backprop * self.ready[index]
            time.sleep(max(0.0, ready - time.perf_counter()))
        return [gradient.detach() for gradient in self._store.gradients[index]]
