"""The network that a run had, from its exchanges.

An exchange lasts from the last rank's start to the first rank's end. A rank that starts earlier waits, so
the rank for which it is shortest tells how long the network took: stragglers do not look like a slow link.
"""

import statistics
from typing import Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Tuple

_LEAST = 8       # Exchanges that a fit takes.
_GROUPS = 8      # Groups of about the same size.
_SPREAD = 4.0    # The largest over the smallest group; below it a message's own time cannot be told.


class Link(NamedTuple):
    """What is sent takes ``latency`` seconds a message, and its bytes over ``bytes_per_second``."""

    latency: float
    bytes_per_second: float
    exchanges: int  # That it was fitted to.


class Exchange(NamedTuple):
    """One bucket's, on one rank. Times in nanoseconds of the rank's own clock."""

    start: int
    end: int
    sent: float   # Bytes that leave the host.
    bucket: str


class Period(NamedTuple):
    """A time in which a rank had exchanges under way, one or several, which shared the link."""

    exchanges: Tuple[Exchange, ...]
    seconds: float

    @property
    def sent(self) -> float:
        return sum(one.sent for one in self.exchanges)

    @property
    def buckets(self) -> FrozenSet[str]:
        return frozenset(one.bucket for one in self.exchanges)


def periods(exchanges: Iterable[Exchange]) -> List[Period]:
    """Returns those of a rank, in order."""
    together: List[List[Exchange]] = []
    end = 0
    for one in sorted(exchanges):
        if not together or one.start > end:
            together.append([])
            end = one.end
        together[-1].append(one)
        end = max(end, one.end)
    return [Period(tuple(some), (max(one.end for one in some) - some[0].start) / 1e9) for some in together]


def shares(found: Iterable[Period]) -> Dict[str, float]:
    """Returns the seconds of each bucket's exchanges, as if it had had the link for itself: what is under way
    at the same time is divided by bytes."""
    seconds: Dict[str, float] = {}
    for period in found:
        for one in period.exchanges:
            part = one.sent / period.sent if period.sent else 1 / len(period.exchanges)
            seconds[one.bucket] = seconds.get(one.bucket, 0.0) + part * period.seconds
    return seconds


def shortest(of_ranks: Sequence[List[Period]]) -> List[Tuple[float, float]]:
    """Returns the bytes and seconds of each period that all ranks had with the same buckets, in one step."""
    seen: Dict[FrozenSet[str], List[Tuple[float, float]]] = {}
    for periods_ in of_ranks:
        for period in periods_:
            seen.setdefault(period.buckets, []).append((period.sent, period.seconds))
    return [(times[0][0], min(seconds for _, seconds in times))
            for times in seen.values() if len(times) == len(of_ranks)]


def fitted(samples: Sequence[Tuple[float, float]]) -> Optional[Link]:
    """Fits a link to bytes and seconds of exchanges; None: there are too few, or they tell nothing of bytes."""
    samples = sorted((sent, seconds) for sent, seconds in samples if sent > 0 and seconds > 0)
    if len(samples) < _LEAST:
        return None
    size = max(1, len(samples) // _GROUPS)
    groups = [samples[i:i + size] for i in range(0, len(samples), size)]
    points = [tuple(map(statistics.median, zip(*group))) for group in groups]
    latency = 0.0
    per_byte = statistics.median(seconds / sent for sent, seconds in points)
    if points[-1][0] >= _SPREAD * points[0][0]:
        # The median of all slopes, and then of what is left: one disturbed group changes neither (Theil 1950).
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:] if b[0] > a[0]]
        per_byte = statistics.median(slopes)
        if per_byte <= 0:
            return None
        latency = max(0.0, statistics.median(seconds - per_byte * sent for sent, seconds in points))
    return Link(latency, 1 / per_byte, len(samples))
