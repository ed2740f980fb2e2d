"""A parameter whose gradient is exchanged."""

from typing import Any, Dict, NamedTuple

import torch

from weir._options import Options


class Member(NamedTuple):
    """A parameter whose gradient is exchanged."""

    name: str
    parameter: torch.Tensor
    group: Dict[str, Any]   # Parameter group with its learning rate.
    priority: int           # Higher goes first: the next forward pass needs it first.
    compression: Options = {}  # Its own options, in place of the exchange's.
