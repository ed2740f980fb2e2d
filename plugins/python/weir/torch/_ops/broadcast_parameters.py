"""Bringing a model to the same state on all ranks."""

from typing import Any, Dict, Iterable, List, Tuple, Union

import torch

from weir._process_sets import ProcessSet, global_process_set
from weir._ops import handles
from weir.torch._ops.broadcast import broadcast_async_

Parameters = Union[Dict[str, Any], Iterable[Tuple[str, Any]]]


def broadcast_parameters(params: Parameters, root_rank: int,
                         process_set: ProcessSet = global_process_set) -> None:
    """Copies the root's values into the tensors of all other ranks.

    ``params`` is ``model.state_dict()``, ``model.named_parameters()`` or the like; values in it that
    are not tensors are left alone. Raises ValueError for anything else.
    """
    if isinstance(params, torch.nn.Module) or not isinstance(params, Iterable):
        raise _not_parameters(params)
    if isinstance(params, dict):
        pairs: List[Tuple[str, Any]] = sorted(params.items())
    else:
        pairs = [_pair(item) for item in params]
    started = []
    for name, value in pairs:
        if not torch.is_tensor(value):
            continue
        target = value.data if isinstance(value, torch.nn.Parameter) else value.detach()
        started.append(broadcast_async_(target, root_rank, name, process_set))
    for handle in started:
        handles.synchronize(handle)


def _pair(item: Any) -> Tuple[str, Any]:
    if isinstance(item, tuple) and len(item) == 2:
        return item
    raise _not_parameters(item)


def _not_parameters(item: Any) -> ValueError:
    return ValueError(f"invalid params of type {type(item).__name__}: give model.state_dict() or "
                      "model.named_parameters()")
