"""``compress``: a wrapped model and its optimizer, with gradients that Weir exchanges."""

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import torch

from weir import _job
from weir._init import init
from weir._process_groups import set_of
from weir._process_sets import ProcessSet
from weir.errors import InvalidArgument
from weir.torch._compression.compression import Compression
from weir.torch._compression.compressors import own_of
from weir.torch._compression.options import options_of
from weir.torch._models import optimizers, whole_buckets
from weir.torch._models.hook import Buckets, hook
from weir.torch._models.parameter_buckets import ParameterBuckets
from weir.torch._models.whole_buckets import WholeBuckets
from weir.torch._optimizer.by_buckets import ByBuckets

_DDP = torch.nn.parallel.DistributedDataParallel


def compress(model: Any, optimizer: Any, compression: Any = Compression.none, *,
             process_set: Any = None) -> Any:
    """Lets Weir exchange the gradients of a model that ``DistributedDataParallel`` has wrapped, and
    returns the optimizer to use: the given one, whose steps are now those of ``DistributedOptimizer``.
    Collective. Call it before the first backward pass.

    Joins the job first, if ``init`` was not called: the one that ``torchrun``, ``srun`` or ``weirrun``
    has started.

    model: the wrapped model, also within ``torch.compile``; or a list of several that the optimizer has
        parameters of. Call it again for a second optimizer of the same model.
    optimizer: any of PyTorch's, also within Accelerate's or Lightning's wrapper.
    compression: as for ``DistributedOptimizer``. With dgc momentum, and weight decay, move from the
        optimizer into the compressor; they return in ``state_dict()`` as far as it has them.
    process_set: the ranks that train together, as a process set or a process group; by default the
        model's own process group.

    Raises ValueError for a model that is not wrapped or has another hook, for parameters of the optimizer
    that are in no model, and as ``DistributedOptimizer`` does.
    """
    if not _job.is_initialized():
        init()
    models = [_unwrapped(one) for one in (model if isinstance(model, (list, tuple)) else [model])]
    inner = optimizers.innermost(optimizer)
    ranks = set_of(models[0].process_group if process_set is None else process_set)
    options = options_of(compression)
    chosen = options is not None
    if options is None:
        options = options_of(_job.engine().default_compression) or {}
    own = own_of(compression)
    if own is None and whole_buckets.are_enough(options):
        for one in models:
            _attach(one, lambda model: WholeBuckets(model, options, ranks))
        return optimizer
    if len(models) > 1 and any(one.static_graph for one in models):
        raise InvalidArgument("static_graph=True with an optimizer of several models: the gradients of the "
                              "first pass would come too late; give each model an optimizer of its own")
    named = _named_parameters(models, inner)
    optimizers.become(inner, ByBuckets, named, options, chosen, own, ranks)
    for one in models:
        _attach(one, lambda model: ParameterBuckets(model, ranks)).add(inner)
    return optimizer


def _unwrapped(model: Any) -> Any:
    found = getattr(model, "_orig_mod", model)  # torch.compile's.
    if not isinstance(found, _DDP):
        raise InvalidArgument(
            f"compress() got a {type(found).__name__}: wrap the model in DistributedDataParallel first, or "
            "leave it as it is and use weir.torch.DistributedOptimizer")
    return found


def _attach(model: Any, make: Any) -> Any:
    """Returns the state of the model's hook, which is registered with its first optimizer."""
    found = model.__dict__.get("_weir_buckets")
    made: Buckets = make(model) if found is None else found
    if found is None:
        model.register_comm_hook(made, hook)
        model._weir_buckets = made
    return made


def _named_parameters(models: Sequence[Any], optimizer: torch.optim.Optimizer
                      ) -> List[Tuple[str, torch.Tensor]]:
    named = [(f"{number}.{name}" if len(models) > 1 else name, parameter)
             for number, model in enumerate(models)
             for name, parameter in model.module.named_parameters()]
    known = {parameter for _, parameter in named}
    for number, group in enumerate(optimizer.param_groups):
        for i, parameter in enumerate(group["params"]):
            if parameter not in known:
                raise InvalidArgument(
                    f"parameter {i} of the optimizer's group {number}, of shape "
                    f"{list(parameter.shape)}, is in none of the models: give compress() all of them")
    return named
