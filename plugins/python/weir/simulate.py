"""weir-simulate: predicts a training's step on other networks, from a log of its run.

    weirrun -np 2 --record run.weirlog python train.py
    weir-simulate run.weirlog --hosts 2,4,8 --rates 100mbit,1gbit --compression dgc,density=0.001

The log says when each bucket's gradients were ready, and what encoding and decoding them took. A network
of the given rate takes the place of the recorded one; compressors that the run did not have are measured
on this machine, on noise of the gradients' shapes.
"""

import argparse
import csv
import statistics
import sys
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy

from weir import _core, runlog
from weir.top import percent, seconds, size, table

WARMUP, NEWEST = 2, 50  # Steps that are left out at the beginning, and most that count.
FRAMED = 0.958  # Part of a link's rate that is left for data: Ethernet's, IP's and TCP's headers go off.
MEASURED_STEPS = 3
RECORDED = "as recorded"
_SUMMED = ("summable", "factors", "nccl_summable")
_ROUTES = {"gather": _core.WireRoute.ALLGATHER, "nccl_gather": _core.WireRoute.ALLGATHER,
           "split": _core.WireRoute.SPLIT, "hierarchical": _core.WireRoute.HIERARCHICAL,
           "push_pull": _core.WireRoute.PUSH_PULL}


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


class Cost(NamedTuple):
    """What a compressor makes of a bucket."""

    route: Any
    dense: int
    payload: int
    encode: float
    decode: float


class Network(NamedTuple):
    hosts: int
    slots: int
    rate: float     # Bits per second.
    latency: float  # Seconds.


class Prediction(NamedTuple):
    compression: str
    network: Network
    step: float
    exposed: float  # Seconds from the last gradient to the last result.
    sent: float     # Bytes that leave a host in a step.


CostOf = Callable[[Bucket, Network], Cost]


# --- the recorded run ---


def read(path: str) -> Run:
    """Returns what a run's log says of its steps. Raises OSError, and ValueError for a log without them."""
    log = runlog.read(path)
    ranks = [_rank_of(log, rank) for rank in log.ranks]
    known = [rank for rank in ranks if rank is not None]
    if not known:
        raise ValueError(f"{path} has no step with all its stages: record at least {WARMUP + 1} steps of a "
                         "program with a DistributedOptimizer")
    size_of_job, hosts = int(log.run(log.ranks[0])["size"]), len(log.run(log.ranks[0]).get("hosts", [])) or 1
    buckets = []
    for bucket in sorted(known[0][2].values(), key=lambda one: one["started"]):
        if bucket["route"] == "servers":
            raise ValueError(f"{path}: weir-simulate does not predict summation servers (--servers, max_staleness)")
        same = [buckets_[bucket["name"]] for _, _, buckets_ in known if bucket["name"] in buckets_]
        ready, encode, decode = (max(one[part] for one in same) for part in ("ready", "encode", "decode"))
        exchange = min(one["exchange"] for one in same)
        buckets.append(Bucket(bucket["name"], ready, encode, exchange, decode, bucket["route"], bucket["payload"],
                              bucket["shapes"]))
    steps, times, _ = max(known, key=lambda one: one[1]["step"])
    return Run(size_of_job, hosts, steps, times["step"], times["before"], buckets)


def _rank_of(log: runlog.RunLog, rank: int) -> Any:
    steps, stages, names = log.steps(rank), log.stages(rank), log.buckets(rank)
    if not steps or not stages:
        return None
    with_stages = steps["step"][numpy.isin(steps["step"], numpy.unique(stages["step"]))]
    numbers = [int(number) for number in with_stages[WARMUP:][-NEWEST:]]
    of_these = numpy.isin(stages["step"], numbers)
    stages = {name: column[of_these] for name, column in stages.items()}
    rows = {int(number): i for i, number in enumerate(steps["step"])}
    if not numbers:
        return None
    seen: Dict[int, List[Any]] = {}
    for number in numbers:
        of_step = stages["step"] == number
        begin = int(steps["begin_ns"][rows[number]])
        for bucket in numpy.unique(stages["bucket"][of_step]):
            rows_of = of_step & (stages["bucket"] == bucket)
            seen.setdefault(int(bucket), []).append(_stages(stages, rows_of, begin))
    found = {}
    for number, visits in seen.items():
        route = names[number]["routes"][visits[-1]["route"]]["route"]
        found[names[number]["name"]] = {
            **{part: float(statistics.median(visit[part] for visit in visits))
               for part in ("ready", "encode", "exchange", "decode", "started")},
            "name": names[number]["name"], "route": route, "payload": int(visits[-1]["payload"]),
            "shapes": _shapes(names, number)}

    def median_of(end: str) -> float:
        return float(statistics.median(int(steps[end][rows[number]] - steps["start_ns"][rows[number]])
                                       for number in numbers)) / 1e9

    return len(numbers), {"step": median_of("end_ns"), "before": median_of("begin_ns")}, found


def _stages(stages: Any, rows: Any, begin: int) -> Dict[str, float]:
    lasted: Dict[str, float] = dict.fromkeys(runlog.STAGES, 0.0)
    found: Dict[str, float] = {"ready": 0.0, "started": 0.0, "payload": 0}
    for i in numpy.flatnonzero(rows):
        stage = runlog.STAGES[stages["stage"][i]]
        lasted[stage] += (int(stages["end_ns"][i]) - int(stages["start_ns"][i])) / 1e9
        if stage == "queue":
            found["ready"] = (int(stages["end_ns"][i]) - begin) / 1e9
        if stage == "exchange":
            found.update(started=float(stages["start_ns"][i]), route=int(stages["route"][i]),
                         payload=max(found["payload"], int(stages["bytes_in"][i])))
    return {"route": 0, **found, "encode": lasted["pack"] + lasted["compress"], "exchange": lasted["exchange"],
            "decode": lasted["merge"] + lasted["unpack"], "started": (found["started"] - begin) / 1e9}


def _shapes(names: Dict[int, Any], bucket: int) -> Tuple[Tuple[int, ...], ...]:
    """Returns the shapes of a bucket's gradients, which have the numbers just before its own."""
    shapes: List[Tuple[int, ...]] = []
    number = bucket - 1
    while "shape" in names.get(number, {}):
        shapes.insert(0, tuple(names[number]["shape"]))
        number -= 1
    return tuple(shapes)


# --- predictions ---


def _payloads(route: Any, network: Network) -> int:
    """Returns how many payloads each rank adds up, all of them or parts of all."""
    if route == _core.WireRoute.ALLGATHER:
        return network.hosts * network.slots
    return network.hosts if route == _core.WireRoute.HIERARCHICAL else 1


def recorded(run: Run) -> CostOf:
    """Returns what the run's own compressor makes of a bucket. It keeps its route."""
    was = Network(run.hosts, run.ranks // run.hosts, 0.0, 0.0)

    def cost(bucket: Bucket, network: Network) -> Cost:
        route = _ROUTES.get(bucket.route, _core.WireRoute.ALLREDUCE)
        dense = bucket.payload if bucket.route in _SUMMED else bucket.dense
        return Cost(route, dense, bucket.payload, bucket.encode,
                    bucket.decode * _payloads(route, network) / _payloads(route, was))
    return cost


def measured(text: str) -> CostOf:
    """Returns the same for a compressor that is measured here. Raises ValueError for options that are not
    understood."""
    options = _core.compression_from_text(text if text.startswith("compressor=") else f"compressor={text}")
    if options == {"compressor": "dense"}:
        return lambda bucket, network: Cost(_core.WireRoute.ALLREDUCE, bucket.dense, bucket.dense, 0.0, 0.0)
    known: Dict[Tuple[int, ...], Any] = {}

    def measure(shape: Tuple[int, ...]) -> Any:
        if shape not in known:
            known[shape] = _core.measure_compressor(options, shape, MEASURED_STEPS)
        return known[shape]

    def cost(bucket: Bucket, network: Network) -> Cost:
        parts = [measure(shape) for shape in bucket.shapes]
        encode, merge, payload = (sum(getattr(part, name) for part in parts)
                                  for name in ("encode_seconds", "merge_seconds", "payload_bytes"))
        if all(part.summable for part in parts):
            return Cost(_core.WireRoute.ALLREDUCE, payload, payload, encode, merge)
        route = _core.wire_route(options, network.hosts * network.slots, bucket.dense, payload)
        return Cost(route, bucket.dense, payload, encode, _payloads(route, network) * merge)
    return cost


def predict(run: Run, compression: str, cost_of: CostOf, network: Network,
            cpu_factor: float = 1.0) -> Prediction:
    """Returns what a step would take."""
    times, sent = [], 0.0
    bytes_per_second = FRAMED * network.rate / 8
    for bucket in run.buckets:
        cost = cost_of(bucket, network)
        lasts = _core.exchange_seconds(cost.route, network.hosts, network.slots, network.latency,
                                       bytes_per_second, cost.dense, cost.payload)
        sent += _core.bytes_sent(cost.route, network.hosts, network.slots, cost.dense, cost.payload)
        times.append(_core.BucketTimes(bucket.ready, cpu_factor * cost.encode, lasts, cpu_factor * cost.decode))
    timeline = _core.timeline_of(times)
    return Prediction(compression, network, run.before + timeline.end, timeline.end - timeline.ready, sent)


def check(run: Run) -> float:
    """Returns what the model makes of the run itself: seconds a step from its own parts."""
    timeline = _core.timeline_of([_core.BucketTimes(bucket.ready, bucket.encode, bucket.exchange, bucket.decode)
                                  for bucket in run.buckets])
    return run.before + float(timeline.end)


# --- the command ---


def rate_of(text: str) -> float:
    """Returns the bits per second of a rate as tc writes it. Raises argparse.ArgumentTypeError."""
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if text.endswith(unit):
            try:
                rate = float(text[:-len(unit)]) * factor
            except ValueError:
                break
            if rate > 0:
                return rate
    raise argparse.ArgumentTypeError(f"{text!r}: give a rate such as 100mbit or 2.5gbit")


def latency_of(text: str) -> float:
    """Returns the seconds of a time such as 0.1ms. Raises argparse.ArgumentTypeError."""
    for unit, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        if text.endswith(unit):
            try:
                value = float(text[:-len(unit)]) * factor
            except ValueError:
                break
            if value >= 0:
                return value
    raise argparse.ArgumentTypeError(f"{text!r}: give a time such as 0.1ms")


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number from 1")
    return int(text)


def _list(kind: Callable[[str], Any]) -> Callable[[str], List[Any]]:
    return lambda text: [kind(part) for part in text.split(",")]


def _parsed(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weir-simulate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", help="run.weirlog of weirrun --record; other ranks' files are read beside it")
    parser.add_argument("--hosts", type=_list(_count), default=[2, 4, 8], metavar="LIST",
                        help="numbers of hosts (2,4,8)")
    parser.add_argument("--slots", type=_count, default=1, metavar="N", help="ranks on each host (%(default)s)")
    parser.add_argument("--rates", type=_list(rate_of), default=[1e8, 1e9, 1e10], metavar="LIST",
                        help="of each host's link (100mbit,1gbit,10gbit)")
    parser.add_argument("--latency", type=latency_of, default=1e-4, metavar="TIME",
                        help="of a message (0.1ms)")
    parser.add_argument("--compression", action="append", default=[], metavar="TEXT",
                        help="a compressor and its options, as in dgc,density=0.001; again for a further one. "
                             "What the run had, and dense, are always there")
    parser.add_argument("--cpu-factor", type=float, default=1.0, metavar="F",
                        help="encoding and decoding take so many times as long there (%(default)s)")
    parser.add_argument("--csv", metavar="FILE", help="also write the table there")
    parser.add_argument("--svg", metavar="FILE", help="also draw the steps over the rate; needs matplotlib")
    return parser.parse_args(arguments)


def predictions(run: Run, options: argparse.Namespace) -> Iterator[Prediction]:
    """Yields one for each compression, number of hosts and rate."""
    ways: Dict[str, CostOf] = {RECORDED: recorded(run)}
    ways.update((text, measured(text)) for text in ["dense", *options.compression])
    for text, cost_of in ways.items():
        for hosts in options.hosts:
            for rate in options.rates:
                yield predict(run, text, cost_of, Network(hosts, options.slots, rate, options.latency),
                              options.cpu_factor)


def shown_rate(rate: float) -> str:
    return f"{rate / 1e9:g} Gb/s" if rate >= 1e9 else f"{rate / 1e6:g} Mb/s"


HEAD = ("compression", "hosts", "rate", "step", "exposed", "sent by a host", "dense / this")


def _rows(found: List[Prediction]) -> List[Tuple[str, ...]]:
    dense = {one.network: one.step for one in found if one.compression == "dense"}
    return [(one.compression, str(one.network.hosts), shown_rate(one.network.rate), seconds(one.step),
             seconds(one.exposed), size(one.sent), f"{dense[one.network] / one.step:.3g}") for one in found]


def _draw(found: List[Prediction], path: str) -> None:
    try:
        import matplotlib  # type: ignore[import-not-found]
    except ImportError as error:
        raise ValueError("--svg needs matplotlib: pip install matplotlib") from error
    matplotlib.use("svg")
    from matplotlib import pyplot  # type: ignore[import-not-found]

    hosts = sorted({one.network.hosts for one in found})
    figure, axes = pyplot.subplots(1, len(hosts), figsize=(4.2 * len(hosts), 3.6), sharey=True, squeeze=False)
    for axis, count in zip(axes[0], hosts):
        for way in dict.fromkeys(one.compression for one in found):
            line = [(one.network.rate / 1e6, one.step) for one in found
                    if one.compression == way and one.network.hosts == count]
            axis.loglog(*zip(*sorted(line)), marker="o", label=way)
        axis.set_title(f"{count} hosts")
        axis.set_xlabel("rate, Mb/s")
        axis.grid(True, alpha=0.3)
    axes[0][0].set_ylabel("step, s")
    axes[0][-1].legend()
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = _parsed(arguments)
    try:
        run = read(options.log)
        found = list(predictions(run, options))
        model = check(run)
        print(f"recorded: {run.ranks} ranks on {run.hosts} hosts, {run.steps} steps of {seconds(run.step)} "
              f"(median); the model makes {seconds(model)} of their parts "
              f"({'+' if model >= run.step else '-'}{percent(abs(model / run.step - 1))})\n")
        print("\n".join(table(HEAD, _rows(found))))
        if options.csv:
            with open(options.csv, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(("compression", "hosts", "slots", "bits_per_second", "latency_seconds",
                                 "step_seconds", "exposed_seconds", "sent_bytes"))
                writer.writerows((one.compression, *one.network, one.step, one.exposed, one.sent)
                                 for one in found)
        if options.svg:
            _draw(found, options.svg)
    except (OSError, ValueError) as error:
        print(f"weir-simulate: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
