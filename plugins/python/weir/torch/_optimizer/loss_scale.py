"""The factor that ``torch.amp.GradScaler`` puts on a loss, for the code that handles its gradients.

A compressor remembers gradients over steps, and must do so without the factor, which changes. A program
tells the optimizer about its scaler only after the exchange (``scaler.step(optimizer)``). So
``GradScaler.scale`` is wrapped, and the loss that it returns tells in its own backward pass which
scaler has scaled it. That also tells apart losses of other scalers, or of none.
"""

import functools
from typing import Any, Callable, Optional, Sequence

import torch

_LATE = ("the gradients carry a loss scale, and those of the steps before did not: give the "
         "compression skip_nonfinite=True, or scale the loss from the first step on")
_UNSEEN = ("a GradScaler steps this optimizer, whose compressor has remembered gradients with a "
           "loss scale that it did not see: call optimizer.set_grad_scaler(scaler) before the "
           "first backward pass")

_scaler_of_pass: Any = None
_is_watching = False


def current() -> Optional[float]:
    """Returns the scale of the gradients in the current backward pass; None: they have none."""
    scaler = _scaler_of_pass
    return None if scaler is None else float(scaler.get_scale())


def watch() -> None:
    """Begins to listen to scalers. Needed only for ``current``; idempotent."""
    global _is_watching
    if _is_watching:
        return
    _is_watching = True
    # PyTorch before 2.3 has it only for CUDA; the newer one is the base of that.
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
    # Before the gradient of any parameter, because all of them come from this one.
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
        self.scaler: Any = None  # The one that the program has named, if any.
        self.value: Optional[float] = None
        """What the gradients of this step are scaled by; None without a scaler."""
        self._previous: Optional[float] = None
        self._begun = False

    @property
    def factor(self) -> float:
        return 1.0 if self.value is None else self.value

    @property
    def last_factor(self) -> float:
        """Returns the factor of the step that has ended."""
        return 1.0 if self._previous is None else self._previous

    def note(self, exchanges: Sequence[Any], is_first_step: Callable[[], bool]) -> None:
        """Notes a gradient that will be compressed. The first one of a step informs the exchanges; only
        a scaled one asks if it is the first step.

        Raises ValueError if its scale differs from earlier ones'.
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

    def check_scaler_step(self, compresses: bool) -> None:
        """Raises RuntimeError when an unknown scaler's step is about to be taken."""
        if self._previous is None and compresses:
            raise RuntimeError(_UNSEEN)
