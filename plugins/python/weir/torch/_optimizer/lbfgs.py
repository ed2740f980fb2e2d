"""The closure of LBFGS, which computes losses and gradients as often as it likes in a step."""

from typing import Any

import torch

from weir.torch._ops.allreduce import allreduce


def shared(optimizer: Any, closure: Any) -> Any:
    """Returns a closure of all ranks: their mean, or sum, of losses and gradients. Raises ValueError if there
    is none."""
    if closure is None:
        raise ValueError("LBFGS computes the loss again and again: give step() a closure")

    def of_all() -> torch.Tensor:
        loss: torch.Tensor = closure()
        if not optimizer._weir_is_member:
            return loss
        optimizer.synchronize()
        return allreduce(loss.detach(), name=f"{optimizer._weir_name}/loss",
                         op=optimizer._weir_reduction.op, process_set=optimizer._weir_process_set)

    return of_all
