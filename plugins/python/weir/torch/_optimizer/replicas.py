"""Whether all ranks still have the same parameters (``WEIR_VERIFY_EVERY``)."""

import warnings
import zlib
from typing import Any, Mapping

import torch

from weir import _job


def check(options: Mapping[str, str]) -> None:
    """Raises ValueError for a compression whose ranks have different parameters by design."""
    stale = [key for key, value in options.items() if key.startswith("max_staleness") and value != "0"]
    if stale and _job.engine().verify_every:
        raise ValueError(f"WEIR_VERIFY_EVERY with {stale[0]}: ranks have different parameters then; leave one of "
                         "them out")


@torch.no_grad()
def verify(optimizer: Any, steps_under_way: int) -> None:
    """Raises Mismatch, on all ranks, if parameters differ between them, once in so many steps. Collective;
    called before the update of a step. `steps_under_way`: 1 if the exchange of this step has ended or goes on by
    itself, 0 if it has not begun."""
    every = _job.engine().verify_every
    if not every or not optimizer._weir_is_member:
        return
    counts = [exchange.finished_steps for exchange in optimizer._weir_exchanges if hasattr(exchange, "finished_steps")]
    if not counts:
        if optimizer._weir_exchanges:
            warn_of_none(optimizer)
        return
    steps = max(counts) - steps_under_way
    if steps <= 0 or steps % every:
        return
    slots = sorted(optimizer._weir_slots.values(), key=lambda slot: slot.name)
    _job.engine().verify_replicas(optimizer._weir_name, [(slot.name, _checksum(slot.local)) for slot in slots],
                                  steps, optimizer._weir_process_set.process_set_id)


def warn_of_none(optimizer: Any) -> None:
    """Warns once if parameters should be compared, and those of this optimizer cannot be."""
    if _job.engine().verify_every and not getattr(optimizer, "_weir_told_of_replicas", False):
        optimizer._weir_told_of_replicas = True
        warnings.warn(f"WEIR_VERIFY_EVERY has no effect on '{optimizer._weir_name}': nothing counts its steps for all "
                      "ranks, as with LBFGS, Adasum, and compressors of the program's own", stacklevel=4)


def _checksum(tensor: torch.Tensor) -> int:
    value = tensor.detach().cpu().contiguous()
    return zlib.crc32(value.reshape(-1).view(torch.uint8).numpy().data) if value.numel() else 0
