"""Reads run logs, which ``weirrun --record run.weirlog`` writes (docs/reference/run-log.md).

::

    log = weir.runlog.read("run.weirlog")      # and run.rank1.weirlog, run.rank2.weirlog, ...
    steps = log.steps()                        # a dictionary of NumPy arrays, a row a step and rank
    seconds = (steps["end_ns"] - steps["start_ns"]) / 1e9
    frame = weir.runlog.to_frame(steps)        # the same as a pandas.DataFrame

Needs NumPy, but no job, GPU or MPI. Not thread-safe.
"""

import importlib
import mmap
import os
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Union

import numpy

from weir._log_blocks import Block, Damaged, Table, block_at, columns_of, next_magic, text_of
from weir._rank_files import may_be_same_job, rank_files

__all__ = ["STAGES", "Damage", "RunLog", "read", "to_frame"]

#: Names of the numbers in the column "stage".
STAGES = ("queue", "negotiate", "pack", "compress", "exchange", "merge", "unpack")


class Damage(NamedTuple):
    """A part of a file that was left out. A job that was killed leaves half a block at the end."""

    path: str
    offset: int  #: Offset of its first byte.
    bytes: int
    why: str


def _mapped(path: str) -> memoryview:
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")  # An empty file cannot be mapped.
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _blocks(path: str, damages: List[Damage]) -> Iterator[Block]:
    """Yields the whole blocks of a file, in order. Adds everything else to `damages`."""
    data = _mapped(path)
    at = 0
    while at < len(data):
        try:
            block = block_at(data, at)
        except Damaged as error:
            end = error.end or next_magic(data, at + 1)
            damages.append(Damage(path, at, end - at, str(error)))
            at = end
            continue
        yield block
        at = block.end


class RunLog:
    """Content of one or several files of a run. If a file continues with another job, the newest
    counts; ranks of other jobs than the first file's are left out. ``damages`` lists parts of the files
    that could not be read, ``ranks_of_other_jobs`` the ranks left out."""

    def __init__(self, paths: List[str]):
        """Raises OSError for a file that cannot be opened, ValueError for one that is not a run log."""
        self.damages: List[Damage] = []
        self.ranks_of_other_jobs: List[int] = []
        self._runs: Dict[int, Any] = {}
        self._flights: Dict[int, Any] = {}
        self._buckets: Dict[int, Dict[int, Any]] = {}
        self._tables: Dict[str, Dict[int, List[Table]]] = {}
        self._lost: Dict[int, int] = {}
        self._stalls: List[Any] = []
        self._plans: Dict[int, List[Any]] = {}
        self._ends: Dict[int, Any] = {}
        self._job = ""  # The newest one found.
        job = ""
        for path in paths:
            any_block = False
            for block in _blocks(path, self.damages):
                any_block = True
                self._take(block)
            if not any_block:
                raise ValueError(f"{path} is not a run log: it has no whole block; give a file that "
                                 "weirrun --record has written")
            if path == paths[0]:
                job = self._job
        for rank in self.ranks:
            if not may_be_same_job(self.job(rank), job):
                self._forget(rank)
                self.ranks_of_other_jobs.append(rank)

    def _forget(self, rank: int) -> None:
        for known in (self._runs, self._flights, self._buckets, self._lost, self._ends, self._plans,
                      *self._tables.values()):
            known.pop(rank, None)  # type: ignore[attr-defined]
        if rank == 0:
            self._stalls = []

    def _take(self, block: Block) -> None:
        kind, rank = block.head["kind"], block.head["rank"]
        if kind == "run":
            run = text_of(block)
            former = self.job(rank)
            self._job = run.get("job", "")
            if former not in ("", self._job):
                self._forget(rank)
            self._runs[rank] = run
        elif kind == "flight":
            self._flights[rank] = text_of(block)
        elif kind == "stalls":
            self._stalls.append(text_of(block))
        elif kind == "plans":
            self._plans.setdefault(rank, []).append(text_of(block))
        elif kind == "end":
            self._ends[rank] = text_of(block)
        elif kind == "names":
            known = self._buckets.setdefault(rank, {})
            known.update((bucket["bucket"], bucket) for bucket in text_of(block))
        elif "columns" in block.head:
            self._tables.setdefault(kind, {}).setdefault(rank, []).append(columns_of(block))
            self._lost[rank] = self._lost.get(rank, 0) + block.head.get("lost", 0)

    @property
    def ranks(self) -> List[int]:
        """Ranks with any data."""
        known = {rank for table in self._tables.values() for rank in table}
        return sorted(known | set(self._runs) | set(self._flights))

    def run(self, rank: int = 0) -> Any:
        """The rank's page /run at its beginning: names, sizes, settings. Raises KeyError for a rank
        without a file."""
        return self._runs[rank]

    def job(self, rank: int = 0) -> str:
        """The id of its job, the same on all ranks; "" if it is not known."""
        return str(self._runs.get(rank, {}).get("job", ""))

    def flight(self, rank: int = 0) -> Any:
        """Head of a flight recording: {"event", "reason", "time_ns", "under_way", "last_finished"};
        None in a run log."""
        return self._flights.get(rank)

    def buckets(self, rank: int = 0) -> Dict[int, Any]:
        """{number: {"name", "group", "compressor", "routes"}}, for the columns "bucket" and
        "gradient"; a gradient's also has its "elements" and "shape". The gradients of a bucket have the numbers
        just before its own."""
        return self._buckets.get(rank, {})

    def lost(self, rank: int = 0) -> int:
        """Number of records that the rank's monitor was too slow to read; they are missing everywhere."""
        return self._lost.get(rank, 0)

    def stalls(self) -> List[Any]:
        """All changes of the job's stalls, as rank 0 found them: {"time_ns", "tensors": [{"name",
        "process_set", "waited_seconds", "missing_ranks"}], "left_out"}. When a stall ends, "tensors"
        has it no more; [] at first, and for a job without a stall."""
        return self._stalls

    def plans(self, rank: int = 0) -> List[Any]:
        """All plans that the rank has made, in order: {"time_ns", "group", "from_step", "by" ("options",
        "file" or "measurement"), "settled" (False: it is only tried), "what", "why",
        "network_bytes_per_second", "network_seconds_per_message", "kappa", "considered": [{"what", "chosen", "bytes_seconds", "predicted_seconds",
        "measured_seconds", "not_tried", "steps"}], "buckets": [{"name", "form", "work_seconds": {form: seconds}}]}. None
        stands for what is not known. Rank 0 plans for all ranks; another one for a process set of which
        it is the first."""
        return self._plans.get(rank, [])

    def end(self, rank: int = 0) -> Any:
        """End of the rank: {"time_ns", "failure"}, the latter "" for a good end; None for a rank whose
        process was ended before it could report, or that goes on."""
        return self._ends.get(rank)

    def steps(self, rank: Optional[int] = None) -> Table:
        """One row per step of the rank, or of all: "rank", "step", "start_ns" (end of the step before),
        "begin_ns" (BeginStep), "end_ns" (nanoseconds of the host's monotonic clock),
        "exposed_communication_ns", "exposed_compression_ns", "payload_bytes", "dense_bytes",
        "target_density"."""
        return self._table("steps", rank)

    def stages(self, rank: Optional[int] = None) -> Table:
        """One row per stage of each bucket: "rank", "step" (-1: outside optimizer steps), "start_ns",
        "end_ns", "bytes_in", "bytes_out", "bucket", "density", "threshold", "stage" (an index into
        STAGES), "route" (an index into the bucket's routes), "ok"."""
        return self._table("stages", rank)

    def gradients(self, rank: Optional[int] = None) -> Table:
        """One row per gradient of each step: "rank", "step", "start_ns" (submitted), "end_ns"
        (delivered), "payload_bytes", "gradient" (a number of buckets()), "density" (the sent part),
        "threshold", "residual_ratio" (below 0: not measured in this step)."""
        return self._table("gradients", rank)

    def state(self, rank: Optional[int] = None) -> Table:
        """One row per second: "rank", "time_ns", totals ("sent_bytes", "received_bytes",
        "negotiation_bytes", "fast_rounds", "slow_rounds"), "stalled_tensors", and the buckets that wait
        for each stage ("waiting_for_queue", ...)."""
        return self._table("state", rank)

    def _table(self, kind: str, rank: Optional[int]) -> Table:
        blocks = [(of, block) for of, blocks in sorted(self._tables.get(kind, {}).items())
                  if rank is None or of == rank for block in blocks]
        if not blocks:
            return {}
        names = [name for name in blocks[0][1] if all(name in block for _, block in blocks)]
        table = {name: numpy.concatenate([block[name] for _, block in blocks]) for name in names}
        counts = [len(next(iter(block.values()))) for _, block in blocks]
        return {"rank": numpy.repeat([of for of, _ in blocks], counts), **table}


def read(path: Union[str, "os.PathLike[str]"]) -> RunLog:
    """Returns the log of a run. For rank 0's file, ``run.weirlog``, also reads the other ranks' files
    beside it, ``run.rank1.weirlog`` and so on, if they are of the same job. Raises OSError and
    ValueError."""
    return RunLog(list(rank_files(os.fspath(path)).values()))


def to_frame(table: Table) -> Any:
    """Converts a table to a pandas.DataFrame; needs pandas."""
    return importlib.import_module("pandas").DataFrame(table)
