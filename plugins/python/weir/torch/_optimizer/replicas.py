"""Whether all ranks still have the same parameters (``WEIR_VERIFY_EVERY``)."""

from typing import Any

import torch

from weir import _job


@torch.no_grad()
def verify(optimizer: Any, has_exchanged: bool) -> None:
    """Raises Mismatch, on all ranks, if parameters differ between them, once in so many steps. Called before
    the update of a step; `has_exchanged`: the step's exchange has ended."""
    every = _job.engine().verify_every
    if not every or not optimizer._weir_is_member:
        return
    updates = max((exchange.next_step for exchange in optimizer._weir_exchanges
                   if hasattr(exchange, "next_step")), default=0) - has_exchanged
    if updates <= 0 or updates % every:
        return
    slots = sorted(optimizer._weir_slots.values(), key=lambda slot: slot.name)
    values = [slot.local.detach().cpu().contiguous() for slot in slots]
    _job.engine().verify_replicas(
        optimizer._weir_name,
        [(slot.name, value.data_ptr(), value.numel() * value.element_size()) for slot, value in zip(slots, values)],
        updates, optimizer._weir_process_set.process_set_id)
