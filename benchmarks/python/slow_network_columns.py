"""The columns of the benchmark slow-network: names, and ways to exchange the gradients."""

from typing import Any, Callable, Dict, NamedTuple

import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

import weir.torch as hvd


class Column(NamedTuple):
    """`join(model)` returns the forward function, and the optimizer that takes the steps. `warmup`:
    least number of steps before the measured state is reached. `settings`: for Weir's engine, as
    environment variables."""

    join: Callable[[torch.nn.Module], Any]
    warmup: int = 1
    settings: Dict[str, str] = {}


def _sgd(model):
    return torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)


def weir(cross_barrier=False, **options):
    def join(model):
        return model, hvd.DistributedOptimizer(_sgd(model), model.named_parameters(), options,
                                               cross_barrier=cross_barrier)
    return join


def _through_ddp(compression):
    """DistributedDataParallel whose buckets Weir exchanges."""
    def join(model):
        wrapped = torch.nn.parallel.DistributedDataParallel(model, init_sync=False,
                                                            gradient_as_bucket_view=True)
        return wrapped, hvd.compress(wrapped, _sgd(model), compression)
    return join


def _ddp(register=lambda model: None, bucket_mb=None):
    """DistributedDataParallel at its fastest: gradients lie in its buckets."""
    def join(model):
        wrapped = torch.nn.parallel.DistributedDataParallel(
            model, init_sync=False, gradient_as_bucket_view=True, bucket_cap_mb=bucket_mb)
        register(wrapped)
        return wrapped, _sgd(model)
    return join


def _no_exchange(model):
    """What DistributedDataParallel costs before anything is exchanged: it copies gradients into buckets."""
    model.register_comm_hook(None, _done)


def _done(_, bucket):
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def _fp16(model):
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)


def _powersgd_or_nothing(state, bucket):
    """The hook without its dense warm-up, which is not measured, and takes minutes at 100 Mb/s."""
    if bucket.index() != 0 or not bucket.is_last():
        raise RuntimeError("the PowerSGD hook has several buckets: its collectives would mix")
    if state.iter >= state.start_powerSGD_iter:
        return powerSGD_hook.powerSGD_hook(state, bucket)
    state.maybe_increase_iter(bucket)
    nothing = torch.futures.Future()
    nothing.set_result(bucket.buffer())
    return nothing


def _powersgd(rank):
    def register(model):
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=rank,
                                            start_powerSGD_iter=2)
        model.register_comm_hook(state, _powersgd_or_nothing)
    # One bucket for everything, because several abort gloo.
    return Column(_ddp(register, bucket_mb=1 << 20), warmup=3)


COLUMNS = {
    "alone": Column(lambda model: (model, _sgd(model))),
    "ddp": Column(_ddp()),
    "ddp-no-exchange": Column(_ddp(_no_exchange), warmup=3),
    "ddp-fp16": Column(_ddp(_fp16)),
    "ddp-powersgd-1": _powersgd(1),
    "ddp-powersgd-2": _powersgd(2),
    "ddp-powersgd-4": _powersgd(4),
    "ddp-weir-none": Column(_through_ddp("none"), warmup=3),
    "ddp-weir-fp16": Column(_through_ddp("fp16"), warmup=3),
    "ddp-weir-dgc": Column(_through_ddp({"compressor": "dgc", "density": 0.001}), warmup=9),
    "weir-dense": Column(weir(compressor="dense")),
    "weir-dense-cross": Column(weir(cross_barrier=True, compressor="dense"), warmup=3),
    "weir-fp16": Column(weir(compressor="fp16")),
    "weir-int8": Column(weir(compressor="int8")),
    "weir-dithering": Column(weir(compressor="dithering")),
    "weir-onebit": Column(weir(compressor="onebit", scaling=True, ef="vanilla")),
    "weir-powersgd-4": Column(weir(compressor="powersgd", rank=4)),
    "weir-randomk": Column(weir(compressor="randomk", k=0.001)),
    "weir-topk": Column(weir(compressor="topk", k=0.001, ef="vanilla")),
    "weir-dgc": Column(weir(compressor="dgc", density=0.001), warmup=9),
    "weir-dgc-cross": Column(weir(cross_barrier=True, compressor="dgc", density=0.001), warmup=9),
    # The steps in which it finds out what is fastest are not measured.
    "weir-auto": Column(weir(compressor="auto", choices=["dense", "fp16", "int8", "dgc", "push_pull"],
                             density=0.001), warmup=80),
    "weir-dgc-split": Column(weir(compressor="dgc", density=0.001, route="split")),
    "weir-dgc-push-pull": Column(weir(compressor="dgc", density=0.001, route="push_pull")),
    "weir-dgc-serial": Column(weir(compressor="dgc", density=0.001),
                              settings={"WEIR_PIPELINE": "serial"}),
}
