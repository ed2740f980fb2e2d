"""Objects as bytes, for other ranks of the same program or for processes that run another one."""

import pickle
from typing import Any


def for_same_program(obj: Any) -> bytes:
    """For ``pickle.loads`` of a rank that runs the same program. What has a name there, as a class
    of the main script, is that rank's own; only what has none, as a lambda or a local class,
    travels whole. Raises what cloudpickle raises, TypeError mostly.
    """
    try:
        return pickle.dumps(obj)
    except Exception:  # PicklingError, AttributeError or TypeError, as Python's version has it.
        return for_other_program(obj)


def for_other_program(obj: Any) -> bytes:
    """For ``pickle.loads`` of a process whose main script is another one: that of this process
    travels whole, as far as the object refers to it. Raises what cloudpickle raises."""
    import cloudpickle  # type: ignore[import-untyped]  # Few programs ever need it.
    return cloudpickle.dumps(obj)
