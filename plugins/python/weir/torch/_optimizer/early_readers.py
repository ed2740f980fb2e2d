"""Functions of PyTorch that look at gradients between the backward pass and the step.

A program for one process calls them without a word to the optimizer. So they are wrapped, and finish the
exchange first if the backward pass has not (``backward_passes``): they see what all ranks share.
"""

import functools
from typing import Any, Callable, Iterable

import torch

from weir.torch._optimizer import living


def _wrap_all() -> None:
    for place in (torch.nn.utils, torch.nn.utils.clip_grad):
        _wrap(place, "clip_grad_norm_", _of_parameters)
        _wrap(place, "clip_grad_value_", _of_parameters)
    # PyTorch before 2.3 has it only for CUDA; the newer one is the base of that.
    kind: Any = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
    _wrap(kind, "unscale_", _of_scaler)


def _wrap(owner: Any, name: str, wait: Callable[[Any, Any], Any]) -> None:
    found = getattr(owner, name)
    if getattr(found, "_weir_waits", False):
        return

    @functools.wraps(found)
    def waiting(*arguments: Any, **keywords: Any) -> Any:
        arguments, keywords = wait(arguments, keywords)
        return found(*arguments, **keywords)

    waiting._weir_waits = True  # type: ignore[attr-defined]
    setattr(owner, name, waiting)


def _of_parameters(arguments: Any, keywords: Any) -> Any:
    given = arguments[0] if arguments else keywords["parameters"]
    if not torch.is_tensor(given):
        given = list(given)  # It may be a generator.
        if arguments:
            arguments = (given, *arguments[1:])
        else:
            keywords = {**keywords, "parameters": given}
    _synchronize([given] if torch.is_tensor(given) else given)
    return arguments, keywords


def _of_scaler(arguments: Any, keywords: Any) -> Any:
    scaler, optimizer = [*arguments, *keywords.values()][:2]
    if scaler.is_enabled() and optimizer in living.in_order():
        optimizer._weir_synchronize_early()
    return arguments, keywords


def _synchronize(parameters: Iterable[torch.Tensor]) -> None:
    for optimizer in living.in_order():
        if any(parameter in optimizer._weir_slots for parameter in parameters):
            optimizer._weir_synchronize_early()


_wrap_all()  # Before the program takes them by name.
