"""Compression of gradients: ``Compression.none``, ``.fp16``, ``.bf16``, ``.auto(...)``, ``.topk(...)``,
``.powersgd(...)`` and ``.dgc(...)``."""

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from weir.torch._compression.compressors import BF16Compressor, FP16Compressor, NoneCompressor
from weir import _options
from weir._options import Options


def _of(compressor: str, given: Mapping[str, Any]) -> Options:
    """Returns the options of the function that is named after its compressor."""
    for key in given:
        if key in ("compressor", "byteps_compressor", "byteps_compressor_type"):
            raise ValueError(f"Compression.{compressor} got {key}={given[key]!r}: it is {compressor}; give "
                             "a dictionary for another one")
    return _options.from_mapping({"compressor": compressor, **given})


class _Hints(type):
    if not TYPE_CHECKING:
        def __getattr__(cls, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise AttributeError(
                f"Compression has no {name!r}: it has none, fp16, bf16, auto, topk, powersgd and dgc; any other "
                f'compressor is given as a dictionary, as in compression={{"compressor": "{name}"}}')


class Compression(metaclass=_Hints):
    """Compressors to choose from. ``auto``, ``topk``, ``powersgd`` and ``dgc`` are for ``DistributedOptimizer``;
    docs/reference/compression.md lists their options, with defaults and allowed values."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor

    @staticmethod
    def auto(*choices: str, **options: Any) -> Options:
        """What takes least time, as measured while training, among ``choices``: "dense", "fp16", "int8"
        and "dgc", or dense and fp16 without any, and dgc for an SGD with momentum. It may differ from
        bucket to bucket and change from step to step, the same on all ranks; nothing is lost by that.

        ``options`` are dgc's, such as ``density``.
        """
        given = {"choices": choices} if choices else {}
        return _of("auto", {**given, **options})

    @staticmethod
    def topk(k: Union[int, float, None] = None, **options: Any) -> Options:
        """The k largest entries of each tensor: a number of them, or a fraction below 1.

        The unsent part is kept and added to the next gradient (``ef="vanilla"``), unless ``ef="none"``
        is given.
        """
        given = {"ef": "vanilla", **options}
        if k is not None:
            given["k"] = k
        return _of("topk", given)

    @staticmethod
    def powersgd(rank: Optional[int] = None, **options: Any) -> Options:
        """PowerSGD (Vogels et al., NeurIPS 2019): two thin factors of each matrix, of ``rank`` columns.

        The part that they leave out is kept and added to the next gradient, unless ``ef="none"`` is
        given. Momentum stays with the wrapped optimizer.
        """
        given = {} if rank is None else {"rank": rank}
        return _of("powersgd", {**given, **options})

    @staticmethod
    def dgc(density: Union[float, str, None] = None, warmup_steps: Optional[int] = None,
            rampup_begin_step: Optional[int] = None, rampup_step: Optional[int] = None,
            sparsity: Optional[Sequence[float]] = None, clip_norm: Optional[float] = None,
            **options: Any) -> Options:
        """Deep Gradient Compression (Lin et al., ICLR 2018).

        ``density`` of the entries are sent after ``warmup_steps`` steps in which the density falls to
        it; ``density="auto"`` with ``steps``, the optimizer steps of the whole run, fits the density to
        the run. ``rampup_begin_step``, ``rampup_step`` and ``sparsity`` are Paddle's names for the same
        schedule. ``clip_norm`` clips each rank's gradient locally. Momentum, Nesterov and weight decay
        are taken from the wrapped SGD; with ``momentum="adam"``, betas, eps and weight decay from the
        wrapped Adam or AdamW, whose steps are then compressed.
        """
        named = {"density": density, "warmup_steps": warmup_steps,
                 "rampup_begin_step": rampup_begin_step, "rampup_step": rampup_step,
                 "sparsity": sparsity, "clip_norm": clip_norm}
        given = {key: value for key, value in named.items() if value is not None}
        given.update(options)
        for key in ("warmup_steps", "rampup_begin_step", "rampup_step", "steps"):
            steps = given.get(key)
            if isinstance(steps, float) and steps.is_integer():
                given[key] = int(steps)  # 4 * len(loader) / 2
        return _of("dgc", given)
