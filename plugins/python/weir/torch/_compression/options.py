"""The engine's options for the compression that a program gives."""

from typing import Any, Mapping, NamedTuple, Optional

from weir import _job, _options
from weir._options import Options
from weir.torch._compression.compressors import CASTS, own_of

_SUMMED = ("none", "dense", "fp16", "bf16", "powersgd")


def options_of(compression: Any) -> Optional[Options]:
    """Returns the engine's dictionary for a program's compression; None for ``Compression.none`` and
    "none", which leave the choice to ``WEIR_COMPRESSION``; empty for a compressor of the program's own. The engine
    checks keys and values.

    Raises ValueError for anything else.
    """
    if compression == "none":
        return None
    if isinstance(compression, str):
        return _options.from_text(compression)
    if isinstance(compression, Mapping):
        return _options.from_mapping(compression)
    if own_of(compression) is not None:
        return {}
    for cast in CASTS:
        if compression is cast:
            return None if cast.compressor is None else {"compressor": cast.compressor}
    raise ValueError(
        f"compression={compression!r} is not known: give Compression.none, .fp16, .bf16, "
        ".auto(...), .topk(...), .powersgd(...), .dgc(...), a dictionary of its options, their text as in "
        "WEIR_COMPRESSION, or a Compressor of your own")


class Choice(NamedTuple):
    """The compression that a program has chosen."""

    options: Options  # For the engine.
    chosen: bool      # By the program, not by WEIR_COMPRESSION.
    own: Any          # A compressor of the program's own.


def choice_of(compression: Any) -> Choice:
    """Returns a program's choice, or that of WEIR_COMPRESSION where it leaves it open. Raises ValueError
    as ``options_of`` does."""
    options = options_of(compression)
    if options is not None:
        return Choice(options, True, own_of(compression))
    return Choice(options_of(_job.engine().default_compression) or {}, False, own_of(compression))


def averaging_compressor(options: Mapping[str, str]) -> Optional[str]:
    """Returns the compressor, among those that the options name for any tensor, whose payloads cannot
    be summed on the way: they are decoded and averaged, without factors. None if there is none."""
    compressors = (value for key, value in options.items()
                   if key == "compressor" or key.startswith("compressor["))
    return next((name for name in compressors if name not in _SUMMED), None)
