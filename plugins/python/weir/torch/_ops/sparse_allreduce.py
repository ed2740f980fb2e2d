"""All-reduce of sparse tensors: every rank gathers all ranks' rows."""

import functools
from typing import Any, Callable, Dict, Optional

import torch

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir._ops import handles, operation_names, reduce_op
from weir.torch._ops import engine_tensors

# Indices from other ranks are checked; PyTorch 1 always does.
_CHECKED: Dict[str, Any] = {} if torch.__version__.startswith("1.") else {"check_invariants": True}


def sparse_allreduce_async(tensor: torch.Tensor, name: Optional[str] = None,
                           op: Optional[int] = None,
                           process_set: ProcessSet = global_process_set
                           ) -> Callable[[], torch.Tensor]:
    """Starts an all-reduce of a sparse COO tensor. Returns a function to call once, which waits and
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
    op = reduce_op.chosen(op)
    if op not in (reduce_op.Average, reduce_op.Sum):
        raise ValueError(f"sparse_allreduce_async got op={reduce_op.name_of(op)}: sparse tensors "
                         "are combined by Average or Sum")
    return start(tensor, name, op, process_set)


def start(tensor: torch.Tensor, name: Optional[str], op: int, process_set: ProcessSet,
          prescale: float = 1.0, postscale: float = 1.0) -> Callable[[], torch.Tensor]:
    """Starts it for checked arguments, with values scaled as in ``allreduce_async``."""
    # Rows that a rank has several times (a repeated word) are sent once.
    tensor = tensor.detach().coalesce()
    # Gathering works along the first dimension: entries must be there.
    indices, values = tensor.indices().t().contiguous(), tensor.values().contiguous()
    dtype = engine_tensors.check_reduced(values)
    set_id = id_for(process_set, "SPARSE_ALLREDUCE")
    gathered = _job.engine().sparse_allreduce(
        operation_names.of("sparse_allreduce", name, process_set), tensor.shape,
        indices.data_ptr(), indices.shape, values.data_ptr(), dtype, values.shape, op,
        prescale, postscale, set_id, *engine_tensors.rows_of((indices, values)))

    def result() -> torch.Tensor:
        all_indices, all_values = engine_tensors.all_from_gathered(gathered, (indices, values))
        return torch.sparse_coo_tensor(all_indices.t(), all_values, tensor.shape, **_CHECKED)

    handle = handles.register([gathered[0].handle], result, (indices, values))
    return functools.partial(handles.synchronize, handle)
