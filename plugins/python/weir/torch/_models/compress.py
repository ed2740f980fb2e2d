"""``compress``: a wrapped model and its optimizer, with gradients that Weir exchanges."""

from typing import Any, List, Sequence, Tuple

import torch

from weir._init import init
from weir._process_groups import set_of
from weir.errors import InvalidArgument
from weir.torch._compression.compression import Compression
from weir.torch._compression.options import Choice, choice_of
from weir.torch._models import checks, optimizers, shards, whole_buckets
from weir.torch._models.hook import Buckets, hook
from weir.torch._models.parameter_buckets import ParameterBuckets
from weir.torch._models.whole_buckets import WholeBuckets
from weir.torch._optimizer.by_buckets import ByBuckets
from weir.torch._optimizer.sharded import Sharded


def compress(model: Any, optimizer: Any, compression: Any = Compression.none, *, replicate: Any = None,
             process_set: Any = None) -> Any:
    """Lets Weir exchange the gradients of a model that ``DistributedDataParallel`` or ``fully_shard`` has
    wrapped, and returns the optimizer to use: the given one, whose steps are now those of
    ``DistributedOptimizer``. Collective. Call it before the first backward pass.

    Joins the job first, if ``init`` was not called: the one that ``torchrun``, ``srun`` or ``weirrun``
    has started.

    model: the wrapped model, also within ``torch.compile``; or a list of several that the optimizer has
        parameters of. Call it again for a second optimizer of the same model.
    optimizer: any of PyTorch's, also within Accelerate's or Lightning's wrapper.
    compression: as for ``DistributedOptimizer``. With dgc momentum, and weight decay, move from the
        optimizer into the compressor, which saves them in its ``state_dict()``.
    replicate: for ``fully_shard``, the dimension of the mesh along which ranks have the same shards, as in
        ``mesh["replicate"]``. The model must be sharded along the others alone. Replicas begin with the
        parameters of the first one.
    process_set: for DistributedDataParallel, the ranks that train together, as a process set or a process
        group; by default the model's own process group.

    Raises ValueError for a model that is not wrapped or has another hook, for parameters of the optimizer
    that are in no model, and as ``DistributedOptimizer`` does.
    """
    init()
    models = [getattr(one, "_orig_mod", one)  # torch.compile's.
              for one in (model if isinstance(model, (list, tuple)) else [model])]
    inner = optimizers.innermost(optimizer)
    choice = choice_of(compression)
    if replicate is not None or any(map(shards.are_in, models)):
        _compress_shards(models, inner, choice, replicate)
    else:
        _compress_buckets(models, inner, choice, process_set)
    return optimizer


def _compress_shards(models: List[Any], optimizer: Any, choice: Choice, replicate: Any) -> None:
    if replicate is None:
        raise InvalidArgument('the model is sharded: give compress(..., replicate=mesh["replicate"]), the '
                              "dimension of the mesh along which ranks have the same shards")
    checks.without_agreement(choice.options, ("clip_norm", "skip_nonfinite"))
    replicas = [shards.replicas_of(one, replicate) for one in models][0]
    named = _named_parameters(models, optimizer)
    shards.retire_others(optimizer)
    optimizers.become(optimizer, Sharded, named, choice, replicas, _weir_replicate=replicate)
    shards.begin_equal(named, replicas)


def _compress_buckets(models: List[Any], optimizer: Any, choice: Choice,
                      process_set: Any) -> None:
    for one in models:
        checks.wrapped(one)
        checks.free(one)
    ranks = set_of(models[0].process_group if process_set is None else process_set)
    checks.equal_on_all(choice.options, ranks)
    whole = whole_buckets.are_enough(choice)
    kind = WholeBuckets if whole else ParameterBuckets
    exchanged = (choice.options, ranks) if whole else ranks
    for one in models:
        if "_weir_buckets" in one.__dict__:
            checks.same_as_before(one._weir_buckets, kind, exchanged)
    named = _named_parameters([one.module for one in models], optimizer)
    if whole:
        for one in models:
            _attach(one, lambda model: WholeBuckets(model, choice.options, ranks))
        return
    if len(models) > 1 and any(one.static_graph for one in models):
        raise InvalidArgument("static_graph=True with an optimizer of several models: the gradients of the "
                              "first pass would come too late; give each model an optimizer of its own")
    ignored = frozenset(parameter for one in models for name, parameter in one.module.named_parameters()
                        if name in one.parameters_to_ignore)
    optimizers.become(optimizer, ByBuckets, named, choice, ranks, _weir_left_out=ignored)
    for one in models:
        _attach(one, lambda model: ParameterBuckets(model, ranks)).add(optimizer)


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
             for name, parameter in model.named_parameters()]
    known = {parameter for _, parameter in named}
    for number, group in enumerate(optimizer.param_groups):
        for i, parameter in enumerate(group["params"]):
            if parameter not in known:
                raise InvalidArgument(
                    f"parameter {i} of the optimizer's group {number}, of shape "
                    f"{list(parameter.shape)}, is in none of the models: give compress() all of them")
    return named
