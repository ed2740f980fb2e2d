"""What makes gradients smaller on their way: ``Compression.none``, ``.fp16``, ``.bf16``,
``.topk(...)``, ``.powersgd(...)`` and ``.dgc(...)``."""

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import torch

Options = Dict[str, str]


class Compressor:
    """What makes a tensor smaller before it is combined with those of other ranks, and restores it
    afterwards. Programs derive their own from it, for ``compression=``: what travels is summed, and
    has the same shape and type on all ranks."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        """What travels, and what ``decompress`` needs to know."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        """The tensor, of the shape and type it had, of what has come back."""
        raise NotImplementedError


class CastCompressor(Compressor):
    """Casts floating-point tensors before they travel and back afterwards."""

    dtype: Optional[torch.dtype] = None
    compressor: Optional[str] = None

    @classmethod
    def compress(cls, tensor: torch.Tensor) -> Tuple[torch.Tensor, Optional[torch.dtype]]:
        """What travels, and what ``decompress`` needs to know."""
        if cls.dtype is None or not tensor.dtype.is_floating_point:
            return tensor, None
        return tensor.to(cls.dtype), tensor.dtype

    @classmethod
    def decompress(cls, tensor: torch.Tensor, context: Optional[torch.dtype]) -> torch.Tensor:
        """The tensor, in the type it had."""
        return tensor if context is None else tensor.to(context)


class NoneCompressor(CastCompressor):
    """Nothing is changed."""


class FP16Compressor(CastCompressor):
    """Floating-point tensors travel as float16."""

    dtype, compressor = torch.float16, "fp16"


class BF16Compressor(CastCompressor):
    """Floating-point tensors travel as bfloat16."""

    dtype, compressor = torch.bfloat16, "bf16"


_SUMMED = ("none", "dense", "fp16", "bf16", "powersgd")
_CASTS = (NoneCompressor, FP16Compressor, BF16Compressor)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    # NumPy's is one, with another repr.
    return repr(float(value)) if isinstance(value, float) else str(value)


def _flat(given: Mapping[Any, Any]) -> Options:
    """{"overrides": {"*.bias": {"compressor": "dense"}}} is {"compressor[*.bias]": "dense"}."""
    options = {str(key): _text(value) for key, value in given.items() if key != "overrides"}
    overrides = given.get("overrides", {})
    if not isinstance(overrides, Mapping) or not all(
            isinstance(of_pattern, Mapping) for of_pattern in overrides.values()):
        raise ValueError(f"overrides={overrides!r:.80} is not understood: give a dictionary of "
                         'options for each pattern of names, as in {"*.bias": {"compressor": "dense"}}')
    for pattern, of_pattern in overrides.items():
        for key, value in of_pattern.items():
            if options.setdefault(f"{key}[{pattern}]", _text(value)) != _text(value):
                raise ValueError(f"{key}[{pattern}] is given twice, in overrides too; keep one")
    return options


def _options(given: Mapping[Any, Any]) -> Options:
    from weir import _core

    return _core.without_prefix(_flat(given))


def _of(compressor: str, given: Mapping[str, Any]) -> Options:
    """The options of a function that is called as its compressor is."""
    for key in given:
        if key in ("compressor", "byteps_compressor", "byteps_compressor_type"):
            raise ValueError(f"Compression.{compressor} got {key}={given[key]!r}: it is {compressor}; give "
                             "a dictionary for another one")
    return _options({"compressor": compressor, **given})


def options_of(compression: Any) -> Optional[Options]:
    """The engine's dictionary for what a program gives; None for ``Compression.none``, which leaves
    the choice to ``WEIR_COMPRESSION``; empty for a compressor of the program's own. Keys and values
    are checked by the engine.

    Raises ValueError for what is no compression.
    """
    if isinstance(compression, str):
        from weir import _core

        return _core.without_prefix(_core.compression_from_text(compression))
    if isinstance(compression, Mapping):
        return _options(compression)
    if own_of(compression) is not None:
        return {}
    for cast in _CASTS:
        if compression is cast:
            return None if cast.compressor is None else {"compressor": cast.compressor}
    raise ValueError(
        f"compression={compression!r} is not known: give Compression.none, .fp16, .bf16, "
        ".topk(...), .powersgd(...), .dgc(...), a dictionary of its options, their text as in "
        "WEIR_COMPRESSION, or a Compressor of your own")


def is_compressor(compression: Any) -> bool:
    """Whether it compresses and decompresses single tensors, here or in a program."""
    return hasattr(compression, "compress") and hasattr(compression, "decompress")


def own_of(compression: Any) -> Any:
    """A program's own compressor: a class or an object, also if it is derived from one of these
    here. None for anything else."""
    if any(compression is cast for cast in _CASTS) or not is_compressor(compression):
        return None
    return compression


def single_of(compression: Any) -> Any:
    """What compresses a single tensor: a cast of this module's, or a program's own with ``compress`` and
    ``decompress``. Raises TypeError for anything else."""
    if is_compressor(compression):
        return compression
    hint = ("topk, powersgd and dgc are for DistributedOptimizer" if isinstance(compression, Mapping)
            else f"got {compression!r:.60}")
    raise TypeError("compression of a single operation is Compression.none, .fp16, .bf16 or a "
                    "Compressor of your own; " + hint)


def averaging(options: Mapping[str, str]) -> Optional[str]:
    """The compressor, of those that the options name for any tensor, of which what ranks send
    cannot be summed on its way: it is decoded and averaged, without factors. None without one."""
    compressors = (value for key, value in options.items()
                   if key == "compressor" or key.startswith("compressor["))
    return next((name for name in compressors if name not in _SUMMED), None)


class _Hints(type):
    if not TYPE_CHECKING:
        def __getattr__(cls, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise AttributeError(
                f"Compression has no {name!r}: it has none, fp16, bf16, topk, powersgd and dgc; any other "
                f'compressor is given as a dictionary, as in compression={{"compressor": "{name}"}}')


class Compression(metaclass=_Hints):
    """Compressors to choose from. ``topk``, ``powersgd`` and ``dgc`` are for ``DistributedOptimizer``; their
    options, with defaults and allowed values, are those of docs/reference/compression.md."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor

    @staticmethod
    def topk(k: Union[int, float, None] = None, **options: Any) -> Options:
        """The k largest entries of each tensor: a number of them, or a fraction below 1.

        What is not sent is remembered and added to the next gradient (``ef="vanilla"``), unless
        ``ef="none"`` is given.
        """
        given = {"ef": "vanilla", **options}
        if k is not None:
            given["k"] = k
        return _of("topk", given)

    @staticmethod
    def powersgd(rank: Optional[int] = None, **options: Any) -> Options:
        """PowerSGD (Vogels et al., NeurIPS 2019): two thin factors of each matrix, of ``rank`` columns.

        What they leave out is remembered and added to the next gradient, unless ``ef="none"`` is
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

        ``density`` of the entries are sent after ``warmup_steps`` steps in which the density falls
        to it; ``density="auto"`` with ``steps``, the optimizer steps of the whole run, suits the
        density to the run. ``rampup_begin_step``, ``rampup_step`` and ``sparsity`` are Paddle's names for the
        same schedule. ``clip_norm`` clips each rank's gradient locally. Momentum, Nesterov and
        weight decay are taken from the wrapped SGD; with ``momentum="adam"`` betas, eps and weight
        decay from the wrapped Adam or AdamW, whose steps are then what is compressed.
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
