"""A rank of a job whose models DistributedDataParallel wraps, for the programs of ``compared``."""

import contextlib
import functools
import warnings

import torch

import weir.torch as hvd

from compared import Rank, compare

OPTIONS = {
    "plain": {},
    "views": {"gradient_as_bucket_view": True},
    "small buckets": {"bucket_cap_mb": 0.0005},
    "small buckets, views": {"bucket_cap_mb": 0.0005, "gradient_as_bucket_view": True},
    "unused": {"find_unused_parameters": True, "bucket_cap_mb": 0.0005},
    "unused, views": {"find_unused_parameters": True, "gradient_as_bucket_view": True},
    "static": {"static_graph": True, "bucket_cap_mb": 0.0005},
}


class Ddp(Rank):
    """Wraps the models, and hands them to ``compress``. The programs go on to call the models that they
    have made; those calls go through the wrapper."""

    def __init__(self, compression, **options):
        super().__init__(compression)
        self.options = options
        self.wrappers = []

    def wrapped(self, optimizer, *models):
        wrappers = [self._wrapper_of(model) for model in models]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # What is taken over from the optimizer.
            return hvd.compress(wrappers, optimizer, self.compression)


    def _wrapper_of(self, model):
        for wrapper in self.wrappers:
            if wrapper.module is model:
                return wrapper
        wrapper = through(torch.nn.parallel.DistributedDataParallel(model, **self.options))
        self.wrappers.append(wrapper)
        return wrapper

    @contextlib.contextmanager
    def no_sync(self):
        with contextlib.ExitStack() as stack:
            for wrapper in self.wrappers:
                stack.enter_context(wrapper.no_sync())
            yield


def through(wrapper):
    """Makes calls of the model calls of its wrapper, which is returned."""
    model = wrapper.module
    forward, inside = model.forward, []

    def redirected(*arguments, **keywords):
        if inside:
            return forward(*arguments, **keywords)
        inside.append(True)
        try:
            return wrapper(*arguments, **keywords)
        finally:
            inside.pop()

    model.forward = redirected
    return wrapper


def check(program, compression, options="plain", **keywords):
    compare(program, compression, rank=functools.partial(Ddp, **OPTIONS[options]), **keywords)


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, **options)
