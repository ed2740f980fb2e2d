"""Pickles objects for other ranks of the same program, or for processes that run another one."""

import pickle
from typing import Any


def for_same_program(obj: Any) -> bytes:
    """Pickles for ``pickle.loads`` of a rank that runs the same program. Objects with a name there,
    such as a class of the main script, are that rank's own; only nameless ones, such as a lambda or a
    local class, are sent whole. Raises as cloudpickle does, mostly TypeError.
    """
    try:
        return pickle.dumps(obj)
    except Exception:  # PicklingError, AttributeError or TypeError, depending on Python's version.
        return for_other_program(obj)


def for_other_program(obj: Any) -> bytes:
    """Pickles for ``pickle.loads`` of a process with another main script: the main script of this
    process is sent whole, as far as the object refers to it. Raises as cloudpickle does."""
    import cloudpickle  # type: ignore[import-untyped]  # Few programs ever need it.
    return cloudpickle.dumps(obj)
