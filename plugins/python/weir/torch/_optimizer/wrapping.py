"""An optimizer of the program's, as one of a class that does more in its steps."""

import collections
from typing import Any, Iterable, List, Optional, Tuple

import torch

from weir.torch._compression.options import Choice


def checked_names(optimizer: torch.optim.Optimizer,
                 named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]]
                 ) -> Optional[List[Tuple[str, torch.Tensor]]]:
    if named_parameters is None:
        return None
    named = list(named_parameters)
    if any(not isinstance(pair, tuple) for pair in named):
        raise ValueError("named_parameters should be a sequence of tuples (name, parameter), "
                         "usually produced by model.named_parameters().")
    counts = collections.Counter(name for name, _ in named)
    duplicates = sorted(name for name, count in counts.items() if count > 1)
    if duplicates:
        raise ValueError("Parameter names in named_parameters must be unique. Found duplicates: "
                         + ", ".join(duplicates))
    known = {parameter for _, parameter in named}
    missing = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]
               if parameter not in known]
    if missing and named:
        raise ValueError("named_parameters was specified, but one or more model parameters were "
                         "not named. Python object ids: " + ", ".join(map(str, missing)))
    return named


def check_wrappable(wrapper: str, optimizer: Any) -> None:
    """Raises ValueError for an optimizer that is wrapped already, TypeError for what is none."""
    if hasattr(optimizer, "_weir_init"):
        raise ValueError("this optimizer is wrapped already, by DistributedOptimizer or Outer: wrap it once")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"{wrapper} wraps a torch.optim.Optimizer, not a {type(optimizer).__name__}")


def mixed(before: type, optimizer: torch.optim.Optimizer) -> Any:
    """Returns the optimizer, as an instance of a class that has another one before its own."""
    kind: Any = type(type(optimizer).__name__, (before, type(optimizer)), {})
    wrapped = kind.__new__(kind)
    wrapped.__dict__.update(optimizer.__dict__)
    # An earlier scheduler has put its own step there, which wraps the plain optimizer's.
    wrapped.__dict__.pop("step", None)
    return wrapped


def exchanging(before: type, optimizer: torch.optim.Optimizer, named: Optional[List[Tuple[str, torch.Tensor]]],
               choice: Choice, *arguments: Any) -> Any:
    """Returns the optimizer as ``mixed`` does, of a class below ``step.Distributed``, ready to take steps. The
    rest are arguments of its ``_weir_init``. Collective."""
    wrapped = mixed(before, optimizer)
    try:
        wrapped._weir_init(named, *choice, *arguments)
    except ValueError as error:
        if choice.chosen or not choice.options or type(error) is not ValueError:
            raise
        raise ValueError(f"with the options of WEIR_COMPRESSION (weirrun --compression): {error}") from None
    return wrapped
