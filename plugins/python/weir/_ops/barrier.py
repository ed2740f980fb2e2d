"""Barrier: no rank goes on before all have come."""

from weir import _job
from weir._process_sets import ProcessSet, global_process_set, id_for
from weir._ops import handles


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Blocks until every rank of the set has called it."""
    set_id = id_for(process_set, "BARRIER")
    handles.wait([_job.engine().barrier("barrier", set_id)])
