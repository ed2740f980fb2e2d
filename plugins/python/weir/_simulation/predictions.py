"""Predictions of a step on a network, from what was recorded of it (coordinator/plan/step_time.h)."""

from typing import Any, Callable, Dict, NamedTuple, Tuple

from weir import _core
from weir._simulation import routes
from weir._simulation.recorded import Bucket, Run

FRAMED = 0.958  # Part of a link's rate that is left for data: Ethernet's, IP's and TCP's headers go off.
MEASURED_STEPS = 3


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


def _payloads(route: Any, network: Network) -> int:
    """Returns how many payloads each rank adds up, all of them or parts of all."""
    if route == _core.WireRoute.ALLGATHER:
        return network.hosts * network.slots
    return network.hosts if route == _core.WireRoute.HIERARCHICAL else 1


def recorded(run: Run) -> CostOf:
    """Returns what the run's own compressor makes of a bucket. It keeps its route."""
    was = Network(run.hosts, run.ranks // run.hosts, 0.0, 0.0)

    def cost(bucket: Bucket, network: Network) -> Cost:
        route, dense = routes.exchanged(bucket.route, bucket.dense, bucket.payload)
        return Cost(route, dense, bucket.payload, bucket.encode,
                    bucket.decode * _payloads(route, network) / _payloads(route, was))
    return cost


def measured(text: str) -> CostOf:
    """Returns the same for a compressor that is measured here. Raises ValueError for options that are not
    understood."""
    if text == "none":
        text = "dense"
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
    return Prediction(compression, network, run.before + timeline.end, timeline.exposed, sent)


def check(run: Run) -> float:
    """Returns what the model makes of the run itself: seconds a step from its own parts."""
    timeline = _core.timeline_of([_core.BucketTimes(bucket.ready, bucket.encode, bucket.exchange, bucket.decode)
                                  for bucket in run.buckets])
    return run.before + float(timeline.end)
