"""What a run's log says of its steps."""

import statistics
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy

from weir import runlog
from weir._simulation import link as links
from weir._simulation import routes

WARMUP, NEWEST = 2, 50  # Steps that are left out at the beginning, and most that count.


class Bucket(NamedTuple):
    """A bucket of the recorded run. Times are medians over steps, of the slowest rank."""

    name: str
    ready: float     # Since the step's begin.
    encode: float
    exchange: float  # Of the rank that waited least for the others.
    decode: float
    route: str
    payload: int     # Bytes that a rank contributes.
    shapes: Tuple[Tuple[int, ...], ...]  # Of its gradients.

    @property
    def dense(self) -> int:
        return 4 * sum(int(numpy.prod(shape, dtype=numpy.int64)) for shape in self.shapes)


class Run(NamedTuple):
    """What was recorded."""

    ranks: int
    hosts: int
    steps: int
    step: float    # Seconds a step, of the slowest rank.
    before: float  # Of that before the first gradient is ready.
    buckets: List[Bucket]  # In the order in which they were exchanged.
    link: Optional[links.Link] = None  # Between its hosts.


class _Visit(NamedTuple):
    """A bucket in one step of one rank. Seconds since the step's begin, or how long."""

    ready: float
    encode: float
    exchange: float  # As if it had had the link for itself.
    decode: float
    started: float
    route: str
    payload: int
    exchanges: List[links.Exchange]


class _Rank(NamedTuple):
    steps: List[int]
    step: float
    before: float
    visits: Dict[str, List[_Visit]]  # By bucket, a visit a step.
    shapes: Dict[str, Tuple[Tuple[int, ...], ...]]
    periods: List[links.Period]


def read(path: str) -> Run:
    """Returns what a run's log says of its steps. Raises OSError, and ValueError for a log without them."""
    log = runlog.read(path)
    hosts = len(log.run(log.ranks[0]).get("hosts", [])) or 1
    ranks = int(log.run(log.ranks[0])["size"])
    known = [found for found in (_read_rank(log, rank, hosts, ranks // hosts) for rank in log.ranks)
             if found is not None]
    if not known:
        raise ValueError(f"{path} has no step with all its stages: record at least {WARMUP + 1} steps of a "
                         "program with a DistributedOptimizer")
    buckets = [_bucket(name, known) for name in sorted(
        known[0].visits, key=lambda name: statistics.median(visit.started for visit in known[0].visits[name]))]
    slowest = max(known, key=lambda one: one.step)
    found = links.fitted(links.shortest([one.periods for one in known])) if hosts > 1 else None
    return Run(ranks, hosts, len(slowest.steps), slowest.step, slowest.before, buckets, found)


def _bucket(name: str, ranks: List[_Rank]) -> Bucket:
    of_ranks = [one.visits[name] for one in ranks if name in one.visits]

    def medians(part: str) -> List[float]:
        return [statistics.median(getattr(visit, part) for visit in visits) for visits in of_ranks]

    last = of_ranks[0][-1]
    return Bucket(name, max(medians("ready")), max(medians("encode")), min(medians("exchange")),
                  max(medians("decode")), last.route, last.payload, ranks[0].shapes[name])


def _read_rank(log: runlog.RunLog, rank: int, hosts: int, slots: int) -> Optional[_Rank]:
    steps, stages, names = log.steps(rank), log.stages(rank), log.buckets(rank)
    if not steps or not stages:
        return None
    with_stages = steps["step"][numpy.isin(steps["step"], numpy.unique(stages["step"]))]
    numbers = [int(number) for number in with_stages[WARMUP:][-NEWEST:]]
    if not numbers:
        return None
    of_these = numpy.isin(stages["step"], numbers)
    rows = {int(number): i for i, number in enumerate(steps["step"])}
    by_place: Dict[Tuple[int, int], List[Any]] = {}
    columns = [stages[name][of_these] for name in
               ("step", "bucket", "stage", "start_ns", "end_ns", "bytes_in", "bytes_out", "route")]
    for step, bucket, *record in zip(*(column.tolist() for column in columns)):
        by_place.setdefault((step, bucket), []).append(record)
    visits: Dict[str, List[_Visit]] = {}
    periods: List[links.Period] = []
    for number in numbers:
        begin = int(steps["begin_ns"][rows[number]])
        of_step = [(bucket, records) for (step, bucket), records in by_place.items() if step == number]
        seen = {names[bucket]["name"]: _visit(records, begin, names[bucket], f"{number} {names[bucket]['name']}",
                                              hosts, slots) for bucket, records in of_step}
        found = links.periods(one for visit in seen.values() for one in visit.exchanges)
        shares = links.shares(found)
        for name, visit in seen.items():
            visits.setdefault(name, []).append(visit._replace(exchange=shares.get(f"{number} {name}", 0.0)))
        periods += found

    def median_of(end: str) -> float:
        return float(statistics.median(int(steps[end][rows[number]] - steps["start_ns"][rows[number]])
                                       for number in numbers)) / 1e9

    shapes = {names[bucket]["name"]: tuple(_shapes(names, bucket)) for _, bucket in by_place}
    return _Rank(numbers, median_of("end_ns"), median_of("begin_ns"), visits, shapes, periods)


def _visit(records: List[Any], begin: int, names: Any, key: str, hosts: int, slots: int) -> _Visit:
    lasted: Dict[str, float] = dict.fromkeys(runlog.STAGES, 0.0)
    ready, exchanges, payload, route = 0, [], 0, "dense"
    for stage, start, end, bytes_in, bytes_out, route_number in records:
        name = runlog.STAGES[stage]
        lasted[name] += (end - start) / 1e9
        if name == "queue":
            ready = end - begin
        if name == "exchange":
            route = names["routes"][route_number]["route"]
            payload = max(payload, routes.payload_of(route, bytes_in, hosts * slots))
            exchanges.append(links.Exchange(start, end, routes.sent(route, bytes_out, bytes_in, hosts, slots), key))
    started = min((one.start for one in exchanges), default=begin) - begin
    return _Visit(ready / 1e9, lasted["pack"] + lasted["compress"], 0.0, lasted["merge"] + lasted["unpack"],
                  started / 1e9, route, payload, exchanges)


def _shapes(names: Dict[int, Any], bucket: int) -> Iterator[Tuple[int, ...]]:
    """Yields the shapes of a bucket's gradients, which have the numbers just before its own."""
    first = bucket
    while "shape" in names.get(first - 1, {}):
        first -= 1
    for number in range(first, bucket):
        yield tuple(names[number]["shape"])
