"""Weir in a program that Accelerate runs: ``compress``.

    import weir.accelerate

    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    weir.accelerate.compress(accelerator, model, optimizer, compression="dgc")
"""

import pathlib
from typing import Any

import torch

import weir.torch
from weir.torch._compression.compression import Compression
from weir.torch._models import optimizers, reports


def compress(accelerator: Any, model: Any, optimizer: Any, compression: Any = Compression.none, *,
             replicate: Any = None) -> None:
    """Lets Weir exchange the gradients of what ``accelerator.prepare`` returned. Collective. ``accumulate``,
    ``clip_grad_norm_``, mixed precision and schedulers stay as they are.

    ``accelerator.save_state`` then also saves what each rank has not sent yet, in a file of its own, and
    ``load_state`` restores it.

    replicate: as for ``weir.torch.compress``, for FSDP2.

    Raises ValueError as ``weir.torch.compress`` does.
    """
    weir.torch.compress(model, optimizer, compression, replicate=replicate)
    inner = optimizers.within(optimizer)
    _step_through(optimizer, inner)
    if not optimizers.remembers(inner):
        return  # Nothing is remembered.
    number = accelerator._optimizers.index(optimizer)  # As Accelerate numbers its own files.

    def name(folder: str) -> pathlib.Path:
        return pathlib.Path(folder) / f"weir{number}-rank{weir.torch.rank()}.pt"

    def save(_models: Any, _weights: Any, folder: str) -> None:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        torch.save(optimizers.unsent(inner), name(folder))

    def load(_models: Any, folder: str) -> None:
        if name(folder).exists():  # Accelerate loads rank 0's into every optimizer.
            optimizers.load_with(inner, torch.load(name(folder), weights_only=True))

    accelerator.register_save_state_pre_hook(save)
    accelerator.register_load_state_pre_hook(load)


def report(model: Any, optimizer: Any) -> "dict[str, float]":
    """Returns what ``accelerator.log`` may show beside the loss: "density", the part of the entries that
    this rank has sent in the last step, and "sent_MB", the megabytes; empty before the first step."""
    return reports.of(model, optimizer)


def _step_through(optimizer: Any, inner: Any) -> None:
    """Makes the wrapper, which has taken the optimizer's step by name for its loss scaler, call the new
    one."""
    if getattr(optimizer, "_optimizer_original_step_method", None) is None:
        return
    from accelerate.optimizer import patch_optimizer_step  # type: ignore[import-untyped]

    optimizer._optimizer_original_step_method = inner.step
    optimizer._optimizer_patched_step_method = patch_optimizer_step(optimizer, inner.step)
