"""Outer: the wrapped optimizer, with steps of its own on each rank and rare rounds of agreement."""

from typing import Any, Iterable, Optional, Tuple

import torch

from weir._process_groups import set_of
from weir._process_sets import global_process_set
from weir.torch._optimizer.wrapping import check_wrappable, checked_names, mixed
from weir.torch._outer.local_steps import LocalSteps, Rounds


def Outer(optimizer: torch.optim.Optimizer, named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None,
          every: int = 30, compression: Any = "fp16", outer_lr: float = 0.7, outer_momentum: float = 0.5,
          fragments: int = 1, overlap: int = 0, process_set: Any = global_process_set) -> torch.optim.Optimizer:
    """Returns the optimizer, as an instance of a class below its own, whose ``step()`` is each rank's own.
    After ``every`` steps the ranks exchange how far each has gone, and an outer SGD with Nesterov's momentum
    moves what they have agreed on (DiLoCo: Douillard et al., 2023, algorithm 1). Collective.

    The wrapped optimizer may be any; its state stays each rank's own. All ranks get the first rank's
    parameters, here and before the first step. Buffers of the model, such as batch norm's, are not exchanged.

    every: steps between two rounds. 1 / every of the bytes of an exchange in each step travel.
    compression: as DistributedOptimizer takes it, for what is exchanged. ``dgc`` takes over the outer
        momentum, and its steps (warm-up, ``steps=``) are rounds.
    outer_lr, outer_momentum: of the outer SGD. 1 and 0 are plain averaging (local SGD). The momentum of
        publications, 0.9, is for many local steps at a small learning rate.
    fragments: parts of the model, whose rounds begin one after the other, every / fragments steps apart
        (streaming DiLoCo: Douillard et al., 2025), so that less travels at once.
    overlap: steps that each rank takes while a round is under way, fewer than ``every``; 0: it waits. What a
        rank does meanwhile is kept: parameters move by the difference that the round makes.
    process_set: the ranks that train together. On any other rank nothing is exchanged.

    Raises ValueError for arguments without meaning, HorovodInternalError where ranks differ.
    """
    check_wrappable("Outer", optimizer)
    _check("every", every, 1)
    _check("fragments", fragments, 1)
    _check("overlap", overlap, 0)
    if overlap >= every:
        raise ValueError(f"overlap={overlap} with every={every}: a round must end before the next one begins; "
                         "give less")
    if fragments > every:
        raise ValueError(f"fragments={fragments} with every={every}: two rounds would begin in one step; give at "
                         "most every")
    if not outer_lr > 0:
        raise ValueError(f"outer_lr={outer_lr!r}: give a number above 0")
    if not 0 <= outer_momentum < 1:
        raise ValueError(f"outer_momentum={outer_momentum!r}: give a number at least 0 and below 1")
    process_set = set_of(process_set)
    process_set._check_registered("Outer")
    wrapped = mixed(LocalSteps, optimizer)
    wrapped._weir_init(checked_names(optimizer, named_parameters),
                       Rounds(every, fragments, overlap, outer_lr, outer_momentum, compression), process_set)
    return wrapped


def _check(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or value < least:
        raise ValueError(f"{name}={value!r}: give a whole number of at least {least}")
