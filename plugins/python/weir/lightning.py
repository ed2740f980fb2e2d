"""Weir as a strategy of Lightning's Trainer.

    import weir.lightning

    trainer = Trainer(strategy="weir")      # Without compression.
    trainer = Trainer(strategy="weir_dgc")  # By Deep Gradient Compression.
    trainer = Trainer(strategy=weir.lightning.WeirStrategy(compression={"compressor": "dgc", "density": 0.01}))
"""

import importlib
import importlib.util
import os
from typing import Any, Dict

import torch


import weir.torch
from weir.torch._compression.compression import Compression
from weir.torch._models import optimizers, reports
from weir.torch._ops.objects import allgather_object

# The package has two names.
_lightning: Any = importlib.import_module(
    "lightning.pytorch" if importlib.util.find_spec("lightning") else "pytorch_lightning")


class WeirStrategy(_lightning.strategies.DDPStrategy):  # type: ignore[misc]
    """``DDPStrategy`` whose gradients Weir exchanges, for every optimizer of the module. Checkpoints have
    what each rank has not sent yet, and restore it. Density and bytes sent stand in the progress bar, and
    in the loggers, as "density" and "sent_MB".

    compression: as for ``weir.torch.compress``. Other arguments: as for ``DDPStrategy``.
    """

    def __init__(self, *arguments: Any, compression: Any = Compression.none, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._compression = compression

    def setup_distributed(self) -> None:
        super().setup_distributed()
        environment = self.cluster_environment
        # What torchrun sets, where Lightning has started the ranks by itself.
        for name, value in {"RANK": self.global_rank, "WORLD_SIZE": self.world_size,
                            "LOCAL_RANK": self.local_rank, "LOCAL_WORLD_SIZE": self.num_processes,
                            "MASTER_ADDR": environment.main_address,
                            "MASTER_PORT": environment.main_port}.items():
            os.environ.setdefault(name, str(value))
        weir.torch.init()

    def setup(self, trainer: Any) -> None:
        super().setup(trainer)
        if not isinstance(self.model, torch.nn.parallel.DistributedDataParallel):
            return  # Evaluation alone.
        for optimizer in self.optimizers:
            weir.torch.compress(self.model, optimizer, self._compression)
        if not any(isinstance(one, _Shown) for one in trainer.callbacks):
            trainer.callbacks.append(_Shown())

    def optimizer_state(self, optimizer: Any) -> Dict[str, Any]:
        """Returns an optimizer's state, with the parts of all ranks. Collective."""
        state: Dict[str, Any] = super().optimizer_state(optimizer)
        if "weir" in state:
            state["weir"] = {"ranks": allgather_object(state["weir"])}
        return state

    def load_optimizer_state_dict(self, checkpoint: Any) -> None:
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"]):
            if "weir" in state:
                parts = state["weir"]["ranks"]
                mine = parts[self.global_rank if self.global_rank < len(parts) else 0]
                state = {**state, "weir": mine}
            optimizers.within(optimizer).load_state_dict(state)


class _Shown(_lightning.Callback):  # type: ignore[misc]
    def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
        if (trainer.global_step + 1) % trainer.log_every_n_steps == 0:
            shown = reports.of(trainer.strategy.model, trainer.optimizers[0])
            module.log_dict(shown, prog_bar=True)


_registry = _lightning.strategies.StrategyRegistry
_registry.register("weir", WeirStrategy, description="DDP whose gradients Weir exchanges")
_registry.register("weir_dgc", WeirStrategy, description="The same by Deep Gradient Compression",
                   compression="dgc")
