"""Join: ranks that have run out of data, while others have not."""

import operator
from typing import Callable, List

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for

_before: List[Callable[[ProcessSet], None]] = []
_after: List[Callable[[ProcessSet], None]] = []


def before_joining(call: Callable[[ProcessSet], None]) -> None:
    """Registers a call for whenever this rank is about to join in a set. An exception in it ends
    ``join``."""
    _before.append(call)


def after_joining(call: Callable[[ProcessSet], None]) -> None:
    """Registers a call for whenever all ranks of a set are back."""
    _after.append(call)


def join(device: int = -1, process_set: ProcessSet = global_process_set) -> int:
    """Says that this rank has no more data, and blocks until every rank of the set has said so. Returns
    the rank of the job that joined last.

    Until then the others go on without it. In their ``allreduce`` and ``grouped_allreduce`` it
    counts as zeros, and an average still divides by all ranks; in the steps of a
    ``DistributedOptimizer`` it sends nothing and keeps what its compressor has accumulated. It does
    not learn their results: give it the parameters and the optimizer's state of the last rank
    (``broadcast_parameters``, ``broadcast_optimizer_state``) before it goes on.

    An optimizer's first step, and the first after loading its state, needs all ranks if it finds sparse
    gradients, a loss scale or a state to agree on. Any other operation of theirs, and Min, Max and
    Product, raises HorovodInternalError. ``device``, a number, has no effect.

    Raises ValueError in the middle of an optimizer's step, and for a process set that this rank is not
    in; TypeError for a ``device`` that is not a number.
    """
    operator.index(device)
    set_id = id_for(process_set, "JOIN")
    for call in _before:
        call(process_set)
    last = _job.engine().join(set_id)
    # This rank has counted fewer operations, and perhaps not taken an optimizer's first step.
    process_set._renumber_operations()
    for call in _after:
        call(process_set)
    return last
