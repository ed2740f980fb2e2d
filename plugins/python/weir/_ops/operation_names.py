"""Names of operations: the same on all ranks, because operations are matched by them."""

from typing import Optional

from weir._process_sets import ProcessSet, expect


def of(kind: str, name: Optional[str], process_set: ProcessSet) -> str:
    """Returns ``allreduce.<name>``; without a name, the number of such an operation in the set."""
    expect(process_set)
    if name is not None:
        return f"{kind}.{name}"
    return f"{kind}.noname.{process_set._next_operation(kind)}"
