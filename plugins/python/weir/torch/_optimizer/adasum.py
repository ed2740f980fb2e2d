"""Class that DistributedOptimizer puts before the wrapped optimizer's own for op=Adasum."""

import contextlib
from typing import TYPE_CHECKING, Any, ContextManager, Dict, Iterator, List

import torch

from weir import _job
from weir._process_sets import ProcessSet
from weir.torch._compression.compressors import is_compressor
from weir._ops import handles, reduce_op
from weir.torch._ops.grouped_allreduce import grouped_allreduce_async_
from weir.torch._optimizer import load_in_place, replicas
from weir.torch._optimizer.parameter_slot import checked_passes

if TYPE_CHECKING:  # The class it is mixed into.
    _Wrapped = torch.optim.Optimizer
else:
    _Wrapped = object


_NO_SCALER = ("GradScaler cannot be used with op=Adasum: each rank would decide on its own whether to "
              "take a step")


class AdasumDistributed(_Wrapped):
    """Every rank takes the wrapped optimizer's step on its own gradients. The moves of the parameters
    are combined by Adasum, and all ranks move by the result (Maleki et al., MLSys 2021)."""

    def _weir_init(self, compression: Any, passes: int, process_set: ProcessSet) -> None:
        if not is_compressor(compression):
            raise ValueError(f"compression={compression!r} with op=Adasum: whole tensors are "
                             "combined; give Compression.none, .fp16, .bf16 or a Compressor of your "
                             "own")
        self._weir_name = f"DistributedOptimizer.{process_set._next_number('optimizer')}"
        # Moves are combined in no other way.
        _job.engine().check_programs_choice(self._weir_name, {}, process_set.rank() == 0)
        self._weir_process_set = process_set
        self._weir_compression = compression
        self.set_backward_passes_per_step(passes)

    def step(self, closure: Any = None) -> Any:
        """Takes the wrapped optimizer's step, and then the combined one."""
        replicas.warn_of_none(self)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = [parameter for group in self.param_groups for parameter in group["params"]
                      if parameter.requires_grad]
        before = [parameter.detach().clone() for parameter in parameters]
        result = super().step()
        if parameters and self._weir_process_set.included():
            self._weir_combine(parameters, before)
        return result if closure is None else loss

    @torch.no_grad()
    def _weir_combine(self, parameters: List[torch.Tensor], before: List[torch.Tensor]) -> None:
        pairs = [self._weir_compression.compress((parameter - start).contiguous())
                 for parameter, start in zip(parameters, before)]
        moves = [move.contiguous() for move, _ in pairs]
        handles.synchronize(grouped_allreduce_async_(
            moves, name=f"{self._weir_name}/moves", op=reduce_op.Adasum,
            process_set=self._weir_process_set))
        for parameter, start, move, (_, context) in zip(parameters, before, moves, pairs):
            parameter.copy_(start + self._weir_compression.decompress(move, context))

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores a ``state_dict``, as the wrapped optimizer does."""
        with load_in_place.kept(self):
            super().load_state_dict(state_dict)

    def synchronize(self) -> None:
        """Does nothing: gradients stay each rank's own."""

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """Raises AssertionError: a step has nothing to leave out."""
        raise AssertionError("Skipping synchronization is not supported when using Adasum "
                             "optimizer.")
        yield

    @property
    def step_report(self) -> None:
        """Returns None: moves are combined by an operation of their own, which is no step of the
        engine's."""

    def looking_ahead(self) -> ContextManager[None]:
        """Returns a context without effect: there is no option ``look_ahead`` with op=Adasum."""
        return contextlib.nullcontext()

    def set_grad_scaler(self, scaler: Any) -> None:
        """Raises ValueError, unless the scaler is None: each rank would decide on its own whether to
        take a step."""
        if scaler is not None:
            raise ValueError(_NO_SCALER)

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Sets how many backward passes the program sums before each step. Raises ValueError below 1."""
        self._weir_passes = checked_passes(passes)

    @property
    def _step_supports_amp_scaling(self) -> bool:
        # GradScaler.step asks this first. It would skip the step on some ranks alone.
        raise ValueError(_NO_SCALER)
