"""Models that ``fully_shard`` has sharded inside a host, with replicas between hosts."""

import functools
from typing import Any, List, Tuple

import torch

from weir._process_groups import set_of
from weir._process_sets import ProcessSet
from weir.errors import InvalidArgument
from weir._ops import handles
from weir.torch._ops.broadcast import broadcast_async_
from weir.torch._optimizer import living
from weir.torch._optimizer.sharded import Sharded, is_sharded


def are_in(model: Any) -> bool:
    """True if any parameter of the model is sharded."""
    return isinstance(model, torch.nn.Module) and any(map(is_sharded, model.parameters()))


def replicas_of(model: Any, replicate: Any) -> ProcessSet:
    """Returns the ranks that have the same shards, for a process set or group of them, or a mesh of one
    dimension. Collective.

    Raises ValueError if the model exchanges gradients along that dimension by itself, or is sharded along it.
    """
    for name, parameter in model.named_parameters():
        if is_sharded(parameter) and parameter.device_mesh.ndim > 1 and parameter.placements[0].is_replicate():
            raise InvalidArgument(
                f"'{name}' is on a mesh whose first dimension has replicas, and fully_shard exchanges its "
                'gradients along that one by itself: give it the other alone, as in fully_shard(module, '
                'mesh=mesh["shard"])')
    replicas = set_of(replicate.get_group() if hasattr(replicate, "get_group") else replicate)
    for name, parameter in model.named_parameters():
        shared = set(replicas.ranks) & set(parameter.device_mesh.mesh.flatten().tolist()) if is_sharded(parameter) else ()
        if len(shared) > 1:
            raise InvalidArgument(
                f"'{name}' is sharded among ranks {sorted(shared)}, which replicate= takes for replicas of each "
                'other: give the dimension that the parameters are not sharded along, as in mesh["replicate"]')
    return replicas


def retire_others(optimizer: torch.optim.Optimizer) -> None:
    """Lets optimizers that had some of the same parameters before hear of their gradients no more."""
    mine = {parameter for group in optimizer.param_groups for parameter in group["params"]}
    for other in living.in_order():
        if isinstance(other, Sharded) and not mine.isdisjoint(other._weir_slots):
            other._weir_retire()


@torch.no_grad()
def begin_equal(named: List[Tuple[str, Any]], replicas: ProcessSet) -> None:
    """Gives all replicas the shards of the first one, as DistributedDataParallel does. Collective."""
    waits = [broadcast_async_(parameter.to_local() if is_sharded(parameter) else parameter.detach(),
                              root_rank=replicas.ranks[0], name=f"compress.{name}", process_set=replicas)
             for name, parameter in named]
    handles.all_of(functools.partial(handles.synchronize, each) for each in waits)
