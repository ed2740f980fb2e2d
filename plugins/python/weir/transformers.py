"""Weir in the Trainer of Transformers: ``compress``.

    import weir.transformers

    trainer = Trainer(...)
    weir.transformers.compress(trainer, "dgc")
    trainer.train()
"""

import pathlib
import warnings
from typing import Any

import torch
import transformers

import weir.accelerate
import weir.torch
from weir.torch._compression.compression import Compression
from weir.torch._models import optimizers, reports
from weir.torch._ops.objects import allgather_object


def compress(trainer: Any, compression: Any = Compression.none, *, replicate: Any = None) -> None:
    """Lets Weir exchange the gradients of a Trainer that ``torchrun`` has started on several ranks.
    Density and bytes sent stand beside the loss. Each checkpoint also has what each rank has not sent yet,
    and ``train(resume_from_checkpoint=...)`` restores it.

    compression, replicate: as for ``weir.torch.compress``, which is called when training begins.
    """
    # Before the callbacks that show and report the loss.
    trainer.callback_handler.callbacks.insert(0, _Compression(trainer, compression, replicate))


class _Compression(transformers.TrainerCallback):
    def __init__(self, trainer: Any, compression: Any, replicate: Any) -> None:
        self._trainer, self._compression, self._replicate = trainer, compression, replicate
        self._resumed_from: Any = None
        load = trainer._load_optimizer_and_scheduler

        def noting(checkpoint: Any) -> Any:
            self._resumed_from = checkpoint
            return load(checkpoint)

        trainer._load_optimizer_and_scheduler = noting

    @property
    def _optimizer(self) -> Any:
        return optimizers.within(self._trainer.optimizer)

    def _remembers(self) -> bool:
        return optimizers.remembers(self._optimizer)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if args.world_size == 1:
            return warnings.warn("weir.transformers.compress: this is one process alone, so there is nothing to "
                                 "exchange; start the program with torchrun")
        if self._remembers():
            return None  # By an earlier train().
        weir.accelerate.compress(self._trainer.accelerator, self._trainer.model_wrapped,
                                 self._trainer.optimizer, self._compression, replicate=self._replicate)
        if self._resumed_from is not None and self._remembers():
            self._resume(pathlib.Path(self._resumed_from))
        return None

    def _resume(self, folder: pathlib.Path) -> None:
        """Replaces rank 0's part, which Trainer has loaded, by this rank's."""
        own = _file(folder) if _file(folder).exists() else folder / "weir-rank0.pt"
        parts = allgather_object(own.exists())
        if not all(parts):
            return warnings.warn(f"{own} is missing on rank {parts.index(False)}: what the ranks had not sent "
                                 "yet is left out")
        optimizers.load_with(self._optimizer, torch.load(own, weights_only=True))
        self._optimizer.load_state_dict(self._optimizer.state_dict())
        return None

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._remembers():
            folder = pathlib.Path(args.output_dir) / f"checkpoint-{state.global_step}"
            folder.mkdir(parents=True, exist_ok=True)
            torch.save(optimizers.unsent(self._optimizer), _file(folder))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if logs is not None and "loss" in logs:
            shown = reports.of(self._trainer.model_wrapped, self._trainer.optimizer)
            logs.update(shown)
            if state.log_history:
                state.log_history[-1].update(shown)


def _file(folder: pathlib.Path) -> pathlib.Path:
    return folder / f"weir-rank{weir.torch.rank()}.pt"
