"""The engine's options, as programs write them: a dictionary, or the text of ``WEIR_COMPRESSION``."""

from typing import Any, Dict, Mapping, Union

Options = Dict[str, str]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    # NumPy's is one, with a different repr.
    return repr(float(value)) if isinstance(value, float) else str(value)


def _flat(given: Mapping[Any, Any]) -> Options:
    """Turns {"overrides": {"*.bias": {"compressor": "dense"}}} into {"compressor[*.bias]": "dense"}."""
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


def from_mapping(given: Mapping[Any, Any]) -> Options:
    """Returns the engine's dictionary. It checks keys and values when they are used. Raises ValueError for
    ``overrides`` that contradict themselves."""
    from weir import _core

    return _core.without_prefix(_flat(given))


def from_text(text: str) -> Options:
    """Does the same for a text: a compressor's name, or ``key=value`` pairs. Raises ValueError for others."""
    from weir import _core

    return _core.without_prefix(_core.compression_from_text(text))


def of_gradients(compression: Union[None, str, Mapping[str, Any]]) -> Options:
    """Returns what stands for a plugin's argument: a dictionary, a compressor's name or text; for None and "none" the
    job's default, or else plain averages."""
    from weir import _job

    if compression is None or compression == "none":
        return dict(_job.engine().default_compression)
    return from_text(compression) if isinstance(compression, str) else from_mapping(compression)
