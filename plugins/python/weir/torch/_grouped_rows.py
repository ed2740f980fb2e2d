"""Grouped all-gather and reduce-scatter: several operations that are submitted together."""

from typing import Callable, List, Optional, Sequence, Tuple

import torch

from weir import _job
from weir.torch import _allgather, _handles, _names, _reduce_op, _reducescatter, _tensors
from weir.torch._compression import Compression, cast_of
from weir._process_sets import ProcessSet, global_process_set, id_for


def _names_of(kind: str, name: Optional[str], count: int, process_set: ProcessSet) -> List[str]:
    if count == 0:
        raise ValueError(f"a grouped {kind} needs at least one tensor")
    base = name if name is not None else _names.of("group", None, process_set)
    return [_names.member(base, i, count) for i in range(count)]


def _check_all(operation: str, tensors: Sequence[torch.Tensor], names: List[str],
               check: Callable[[torch.Tensor], int], process_set: ProcessSet) -> None:
    """Raises ValueError where one of them would be refused: all are submitted, or none."""
    set_id = id_for(process_set, operation)
    for tensor, name in zip(tensors, names):
        check(tensor)
        if tensor.dim() == 0:
            raise ValueError(f"Rank {_job.rank()} tried to {operation} a rank-zero tensor. (tensor "
                             f"'{name}': give it a first dimension, whose rows can be dealt out)")
        if _job.engine().is_under_way(f"{operation.lower()}.{name}", set_id):
            raise ValueError(
                "Requested to allreduce, allgather, or broadcast a tensor with the same name as "
                "another tensor that is currently being processed. If you want to request another "
                f"tensor, use a different tensor name. (tensor '{operation.lower()}.{name}')")


def grouped_allgather_async(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                            process_set: ProcessSet = global_process_set) -> int:
    """``allgather_async`` of several tensors with one handle; ``synchronize`` returns a tuple."""
    _tensors.expect_list(tensors)
    names = _names_of("allgather", name, len(tensors), process_set)
    _check_all("ALLGATHER", tensors, names, _tensors.check, process_set)
    return _handles.join([_allgather.allgather_async(tensor, each, process_set)
                      for tensor, each in zip(tensors, names)])


def grouped_allgather(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                      process_set: ProcessSet = global_process_set) -> Tuple[torch.Tensor, ...]:
    """All ranks' tensors, concatenated, for each of the tensors. Differentiable."""
    _tensors.expect_list(tensors)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return tuple(_allgather.allgather(tensor, each, process_set) for tensor, each
                     in zip(tensors, _names_of("allgather", name, len(tensors), process_set)))
    return _handles.synchronize(grouped_allgather_async(tensors, name, process_set))


def grouped_reducescatter_async(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                                op: int = _reduce_op.Average,
                                process_set: ProcessSet = global_process_set,
                                prescale_factor: float = 1.0,
                                postscale_factor: float = 1.0) -> int:
    """``reducescatter_async`` of several tensors with one handle; ``synchronize`` returns a
    tuple."""
    _tensors.expect_list(tensors)
    names = _names_of("reducescatter", name, len(tensors), process_set)
    _check_all("REDUCESCATTER", tensors, names, _tensors.check_reduced, process_set)
    return _handles.join([_reducescatter.reducescatter_async(tensor, each, op, process_set,
                                                         prescale_factor, postscale_factor)
                      for tensor, each in zip(tensors, names)])


def grouped_reducescatter(tensors: Sequence[torch.Tensor], name: Optional[str] = None,
                          compression=Compression.none, op: int = _reduce_op.Average,
                          process_set: ProcessSet = global_process_set,
                          prescale_factor: float = 1.0, postscale_factor: float = 1.0
                          ) -> Tuple[torch.Tensor, ...]:
    """This rank's rows of each of the combinations. Differentiable."""
    _tensors.expect_list(tensors)
    pairs = [cast_of(compression).compress(tensor) for tensor in tensors]
    compressed = [tensor for tensor, _ in pairs]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in compressed):
        names = _names_of("reducescatter", name, len(tensors), process_set)
        parts = [_reducescatter.reducescatter(tensor, each, Compression.none, op, process_set,
                                              prescale_factor, postscale_factor)
                 for tensor, each in zip(compressed, names)]
    else:
        parts = _handles.synchronize(grouped_reducescatter_async(
            compressed, name, op, process_set, prescale_factor, postscale_factor))
    return tuple(compression.decompress(part, context)
                 for part, (_, context) in zip(parts, pairs))
