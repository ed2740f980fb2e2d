"""The arguments of ``weir.run`` as options of ``weirrun``."""

from typing import Any, List, Mapping


def one_of(**given: Any) -> Any:
    """Returns the value of an argument with several names; None without any. Raises ValueError for two."""
    found = {name: value for name, value in given.items() if value is not None}
    if len(found) > 1:
        names = " and ".join(f"{name}=" for name in found)
        raise ValueError(f"weir.run got {names}: give one of them")
    return next(iter(found.values()), None)


def of(values: Mapping[str, Any]) -> List[str]:
    """Returns the words of a command line. True stands for a flag; None and False are left out; a tuple
    or a list has several values."""
    words: List[str] = []
    for flag, value in values.items():
        if value is None or value is False:
            continue
        several = value if isinstance(value, (tuple, list)) else [value]
        words += [flag] if value is True else [flag, *map(str, several)]
    return words
