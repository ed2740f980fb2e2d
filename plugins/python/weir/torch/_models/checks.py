"""Checks of what ``compress`` and ``HookState`` are given."""

import json
from typing import Any, Mapping, Sequence

import torch

from weir import _job
from weir._process_sets import ProcessSet
from weir.errors import InvalidArgument
from weir.torch._models.hook import Buckets
from weir.torch._ops.objects import allgather_object

_DDP = torch.nn.parallel.DistributedDataParallel


def wrapped(model: Any) -> None:
    """Raises InvalidArgument for anything but a DistributedDataParallel."""
    if not isinstance(model, _DDP):
        raise InvalidArgument(
            f"compress() and HookState() take a model in DistributedDataParallel, or one that fully_shard has "
            f"sharded, and got a {type(model).__name__}: wrap it first, or leave it as it is and use "
            "weir.torch.DistributedOptimizer")


def free(model: Any) -> None:
    """Raises InvalidArgument if another hook has the model's buckets."""
    if getattr(model, "_comm_hooks", ()) and "_weir_buckets" not in model.__dict__:
        raise InvalidArgument("the model has a communication hook already: leave its register_comm_hook() "
                              "out, compress() registers its own")


def same_as_before(found: Buckets, kind: type, choice: Any) -> None:
    """Raises InvalidArgument if a model is exchanged in another way already."""
    if type(found) is not kind or found.choice != choice:
        raise InvalidArgument("the gradients of this model are exchanged in another way already: give "
                              "compress() the same compression and process set for each of its optimizers, "
                              "as in {\"compressor\": \"dgc\", \"overrides\": {...}} where parameters differ")


def equal_on_all(options: Mapping[str, str], ranks: ProcessSet) -> None:
    """Raises InvalidArgument, on all ranks, if the ranks have chosen different compressions. Collective."""
    texts = allgather_object(json.dumps(dict(options), sort_keys=True), process_set=ranks)
    other = next((i for i, text in enumerate(texts) if text != texts[0]), None)
    if other is not None:
        raise InvalidArgument(f"compress(): rank {ranks.ranks[0]} has the compression {texts[0]}, and rank "
                              f"{ranks.ranks[other]} has {texts[other]}; this is rank {_job.rank()}")


def without_agreement(options: Mapping[str, str], names: Sequence[str]) -> None:
    """Raises InvalidArgument for options that shards would follow each on its own."""
    for key, value in options.items():
        if key.split("[")[0] in names and value not in ("false", "0", "none"):
            raise InvalidArgument(f"{key}={value} is for the whole gradient, of which each rank has a shard: "
                                  "leave it out; torch.nn.utils.clip_grad_norm_ clips what was exchanged")
