"""Properties of gradients that the ranks find out in a parameter's first step.

Sparse gradients, and loss scales, are known only when gradients arrive. So those of the first step are
held back until the ranks agree on them; from the second step on the exchange runs beside
backpropagation.
"""

from typing import Any, Dict, List

import torch

from weir._ops import reduce_op
from weir.torch._ops.allreduce import allreduce_
from weir.torch._optimizer import momentum


def is_over(slot: Any) -> bool:
    """True if the gradient's first step is over."""
    return slot.sparse_dim is not None


def is_under_way(optimizer: Any) -> bool:
    """True if any gradient's first step is under way. Checks all of them."""
    return any(not is_over(slot) for slot in optimizer._weir_slots.values())


def recall(optimizer: Any) -> None:
    """Lets ranks that joined before their first step, while others took theirs, learn the others'
    findings. Collective."""
    slots = list(optimizer._weir_slots.values())
    found = torch.tensor([[0 if slot.sparse_dim is None else slot.sparse_dim + 1 for slot in slots]],
                         dtype=torch.int32)
    for slot, more_by_one in zip(slots, _mean_of_given(optimizer, found, "after joining")):
        if more_by_one:
            slot.sparse_dim = more_by_one - 1


def _mean_of_given(optimizer: Any, found: torch.Tensor, name: str) -> List[int]:
    """Returns the mean over ranks, rounded down, of each of these numbers, ignoring zeros. Collective;
    a rank that has joined has zeros, which is why this is made of sums."""
    total, count = allreduce_(torch.cat([found, found.sign()]),
                              name=f"{optimizer._weir_name}/{name}", op=reduce_op.Sum,
                              process_set=optimizer._weir_process_set)
    return torch.div(total, count.clamp(min=1), rounding_mode="floor").tolist()


def settle(optimizer: Any) -> None:
    """Takes sparse gradients out of the exchange of dense ones, and enables skipping of steps that a
    loss scale made overflow. Collective in a parameter's first step, without effect in later ones.

    Raises ValueError, on all ranks, if a gradient must not be sparse.
    """
    if not optimizer._weir_has_new:
        return
    fresh = [slot for slot in optimizer._weir_slots.values() if not is_over(slot)]
    if not fresh:
        optimizer._weir_has_new = False
        return
    *dims, scaled = _agree(optimizer, fresh)
    for slot, sparse_dim in zip(fresh, dims):
        if sparse_dim:
            momentum.check_sparse(slot.plan, slot.name)
    for slot, sparse_dim in zip(fresh, dims):
        slot.sparse_dim = sparse_dim
    for number, exchange in enumerate(optimizer._weir_exchanges):
        members = [slot for slot in fresh if slot.exchange is exchange]
        sparse = [slot for slot in members if slot.sparse_dim]
        options: Dict[str, str] = {}
        if scaled and exchange.compression and not exchange.skips_nonfinite:
            options["skip_nonfinite"] = "true"
        if members and (sparse or options):
            optimizer._weir_exchanges[number] = exchange.changed(
                f"{optimizer._weir_name}/{number}/changed", [slot.index for slot in sparse], options)
            _move(sparse, [slot for slot in members if not slot.sparse_dim],
                  optimizer._weir_sparse, optimizer._weir_exchanges[number])


def _agree(optimizer: Any, fresh: List[Any]) -> List[int]:
    """Returns for each gradient its number of sparse dimensions on any rank that has it sparse, 0 if it
    is dense everywhere (a rank whose model did not use the parameter has none); and at the end, whether
    any rank's gradients carry a loss scale. Collective."""
    gradients = [slot.parameter.grad for slot in fresh]
    dims = [gradient.sparse_dim() if gradient is not None and gradient.is_sparse
            and not optimizer._weir_sparse_as_dense else 0 for gradient in gradients]
    scaled = int(optimizer._weir_scale.value is not None)
    found = torch.tensor([[*dims, scaled]], dtype=torch.int32)
    return _mean_of_given(optimizer, found, "first step")


def _move(sparse: List[Any], dense: List[Any], to: Any, rest: Any) -> None:
    for slot in sparse:
        slot.exchange, slot.index = to, to.add(slot.name, slot.parameter, slot.sparse_dim)
    for index, slot in enumerate(dense):
        slot.exchange, slot.index = rest, index
