"""All-reduce of sparse tensors: everybody gathers everybody's rows."""

from typing import Any, Callable, Dict, Optional

import torch

from weir.torch import _handles, _names, _reduce_op, _tensors
from weir.torch._allgather import allgather_async
from weir._process_sets import ProcessSet, global_process_set

# Indices from other ranks are checked; PyTorch 1 always does.
_CHECKED: Dict[str, Any] = {} if torch.__version__.startswith("1.") else {"check_invariants": True}


def sparse_allreduce_async(tensor: torch.Tensor, name: Optional[str] = None,
                           op: Optional[int] = None,
                           process_set: ProcessSet = global_process_set
                           ) -> Callable[[], torch.Tensor]:
    """Starts an all-reduce of a sparse COO tensor; what it returns is called once, waits, and
    returns the result, of the tensor's shape.

    Indices and values are gathered from all ranks, which may give different numbers of entries;
    the result holds them one after the other in the order of ranks (it is not coalesced).
    ``Average`` divides them by the size of the process set.

    Raises ValueError for a tensor that is not sparse COO, for an ``op`` other than Average and
    Sum, and for a name that is under way. Waiting raises HorovodInternalError when the ranks
    disagree or one of them is gone.
    """
    if tensor.layout != torch.sparse_coo:
        raise ValueError(f"sparse_allreduce_async got a tensor of layout {tensor.layout}: give a "
                         "sparse COO one, or a dense one to allreduce_async")
    op = _reduce_op.chosen(op)
    if op not in (_reduce_op.Average, _reduce_op.Sum):
        raise ValueError(f"sparse_allreduce_async got op={_reduce_op.name_of(op)}: sparse tensors "
                         "are combined by Average or Sum")
    if name is None:
        name = _names.of("sparse_allreduce", None, process_set)
    # Rows that a rank has several times (a word that comes again) travel once.
    tensor = tensor.detach().coalesce()
    values = tensor.values().contiguous()
    _tensors.check_reduced(values)  # Before anything is under way.
    # Gathering goes along the first dimension: entries have to be there.
    indices_handle = allgather_async(tensor.indices().t().contiguous(), f"{name}.indices",
                                     process_set)
    values_handle = allgather_async(values, f"{name}.values", process_set)

    def wait() -> torch.Tensor:
        try:
            all_indices = _handles.synchronize(indices_handle)
        finally:  # Both, whatever becomes of the first.
            all_values = _handles.synchronize(values_handle)
        if op == _reduce_op.Average:
            all_values = _divided(all_values, len(process_set.ranks))
        return torch.sparse_coo_tensor(all_indices.t(), all_values, tensor.shape,
                                       **_CHECKED)

    return wait


def _divided(values: torch.Tensor, size: int) -> torch.Tensor:
    if values.dtype.is_floating_point:
        return values / size
    return torch.div(values, size, rounding_mode="trunc")
