"""The factor that ``torch.amp.GradScaler`` puts on a loss, told to whoever handles its gradients.

What is compressed remembers gradients over steps, and must do so without the factor, which changes.
A program tells the optimizer about its scaler only after the exchange (``scaler.step(optimizer)``);
so ``GradScaler.scale`` is wrapped, and the loss that it returns says in its own backward pass which
scaler has scaled it. Losses of other scalers, or of none, are told apart by that.
"""

import functools
from typing import Any, Callable, Optional, Sequence

import torch

_LATE = ("the gradients carry a loss scale, and those of the steps before did not: give the "
         "compression skip_nonfinite=True, or scale the loss from the first step on")
_NOT_SYNCHRONIZED = ("scaler.step(optimizer) before optimizer.synchronize(): gradients that are "
                     "still being exchanged would be unscaled. Call optimizer.synchronize() after "
                     "backward, and scaler.step(optimizer) within optimizer.skip_synchronize()")
_UNSEEN = ("a GradScaler steps this optimizer, whose compressor has remembered gradients with a "
           "loss scale that it did not see: call optimizer.set_grad_scaler(scaler) before the "
           "first backward pass")

_scaler_of_pass: Any = None
_is_watching = False


def current() -> Optional[float]:
    """The scale of the gradients in the backward pass that is running; None: they have none."""
    scaler = _scaler_of_pass
    return None if scaler is None else float(scaler.get_scale())


def watch() -> None:
    """Begins to listen to scalers. Whoever needs no ``current`` need not; idempotent."""
    global _is_watching
    if _is_watching:
        return
    _is_watching = True
    # PyTorch before 2.3 has it for CUDA alone, where the newer one is the base of that.
    kind: Any = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
    scale = kind.scale

    @functools.wraps(scale)
    def watched(self: Any, outputs: Any) -> Any:
        return _marked(scale(self, outputs), self) if self.is_enabled() else scale(self, outputs)

    kind.scale = watched


def _marked(scaled: Any, scaler: Any) -> Any:
    if torch.is_tensor(scaled):
        if scaled.requires_grad:
            scaled.register_hook(functools.partial(_begin_pass, scaler))
        return scaled
    marked = (_marked(item, scaler) for item in scaled)
    return type(scaled)(marked) if isinstance(scaled, (list, tuple)) else marked


def _begin_pass(scaler: Any, _: torch.Tensor) -> None:
    # Before the gradient of any parameter, as all of them come from this one.
    global _scaler_of_pass
    _scaler_of_pass = scaler
    torch.autograd.Variable._execution_engine.queue_callback(_end_pass)


def _end_pass() -> None:
    global _scaler_of_pass
    _scaler_of_pass = None


def between_passes() -> None:
    """No backward pass is running: one that ended with an exception has left its scaler behind."""
    _end_pass()


class StepScale:
    """The loss scale of one optimizer's gradients, step by step. Not thread-safe."""

    def __init__(self) -> None:
        self.scaler: Any = None  # The one that the program has named, if it did.
        self.value: Optional[float] = None
        """What the gradients of this step are scaled by; None without a scaler."""
        self._previous: Optional[float] = None
        self._begun = False

    @property
    def factor(self) -> float:
        return 1.0 if self.value is None else self.value

    def note(self, exchanges: Sequence[Any], is_first_step: Callable[[], bool]) -> None:
        """A gradient has come that will be compressed. The first one of a step tells the exchanges;
        only a scaled one asks whether it is the first step.

        Raises ValueError when it is scaled otherwise than those before.
        """
        scale = self._asked()
        if self._begun:
            if scale != self.value:
                raise ValueError(
                    f"the gradients of one step carry the loss scales {self.value} and {scale}: "
                    "scale every loss of a step by the same scaler, and call its update() after "
                    "the step")
            return
        if scale is not None and not is_first_step():
            if any(e.compression and not e.skips_nonfinite for e in exchanges):
                raise ValueError(_LATE)
        self._begun, self.value = True, scale
        for exchange in exchanges:
            exchange.loss_scale = scale

    def _asked(self) -> Optional[float]:
        if self.scaler is None:
            return current()
        return float(self.scaler.get_scale()) if self.scaler.is_enabled() else None

    def end_step(self) -> None:
        self._previous, self.value, self._begun = self.value, None, False
        between_passes()

    def check_scaler_step(self, compresses: bool, under_way: bool) -> None:
        """Raises RuntimeError when a scaler's step would spoil what is under way, or is that of a
        scaler that nobody knew of."""
        if under_way:
            raise RuntimeError(_NOT_SYNCHRONIZED)
        if self._previous is None and compresses:
            raise RuntimeError(_UNSEEN)
