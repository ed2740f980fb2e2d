"""weir-top: a running job's ranks and layers in a terminal, as in the dashboard."""

import argparse
import contextlib
import os
import statistics
import sys
import time
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from weir._following import STEPS_KEPT, Job, Rank

STUCK_SECONDS, STUCK_STEPS = 10.0, 20
CLEAR = "\x1b[H\x1b[2J"


def seconds(value: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def size(value: float) -> str:
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> List[str]:
    """Returns lines: the first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    return ["  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                      for place, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in (head, *rows)]


class Times:
    """Means over a rank's newest steps, in seconds."""

    def __init__(self, rank: Rank):
        steps = list(rank.steps)

        def mean(nanoseconds: Iterable[float]) -> float:
            return sum(nanoseconds) / len(steps) / 1e9

        self.step = mean(step["end_ns"] - step["start_ns"] for step in steps)
        self.communication = mean(step["exposed_communication_ns"] for step in steps)
        self.compression = mean(step["exposed_compression_ns"] for step in steps)
        self.own = self.step - self.communication
        self.newest = int(steps[-1]["step"])
        self.payload = sum(step["payload_bytes"] for step in steps)
        self.dense = sum(step["dense_bytes"] for step in steps)


def sent_per_second(rank: Rank) -> float:
    if len(rank.states) < 2:
        return 0.0
    first, last = rank.states[0], rank.states[-1]
    return 1e9 * (last["sent_bytes"] - first["sent_bytes"]) / (last["time_ns"] - first["time_ns"])


def _summary(every: Dict[Optional[int], Times], newest: int) -> str:
    # A rank that has joined, or is lost, reports the past.
    times = {rank: of for rank, of in every.items() if of.newest > newest - STEPS_KEPT}
    dense, payload = sum(t.dense for t in times.values()), sum(t.payload for t in times.values())
    # The slowest rank defines the step: the others' waits for it say nothing about the network.
    slowest = max(times, key=lambda rank: times[rank].own)
    pace = times[slowest]
    texts = [f"step {newest}", f"{seconds(pace.step)} a step",
             f"exposed communication {percent(pace.communication / pace.step)}",
             f"compression {percent(pace.compression / pace.step)}"]
    if payload:
        texts.append(f"{dense / payload:.3g}x less than dense")
    if len(times) > 1:
        median = statistics.median_low([t.own for t in times.values()])
        excess = pace.own / median - 1 if median > 0 else 0.0
        texts.append(f"slowest rank {slowest} (+{percent(excess)})")
    return ", ".join(texts)


def _state(rank: Rank) -> str:
    if rank.end is not None:
        return f"failed: {rank.end['failure']}" if rank.end["failure"] else "ended"
    return f"lost: {rank.trouble}" if rank.trouble else "live"


def _rank_rows(ranks: Sequence[Rank], times: Dict[Optional[int], Times]) -> List[Tuple[str, ...]]:
    rows: List[Tuple[str, ...]] = []
    for rank in ranks:
        name = "?" if rank.rank is None else str(rank.rank)
        host = str(rank.run.get("host", ""))
        state = _state(rank)
        if rank.rank not in times:
            rows.append((name, host, "-", "-", "-", "-", "-", "-", state))
            continue
        of = times[rank.rank]
        stalled = rank.states[-1]["stalled_tensors"] if rank.states else 0
        rows.append((name, host, f"{rank.steps[-1]['step']:.0f}", seconds(of.step), seconds(of.own),
                     seconds(of.communication), size(sent_per_second(rank)) + "/s",
                     f"{stalled:.0f}", state))
    return rows


def _stuck_lines(ranks: Sequence[Rank], times: Dict[Optional[int], Times]) -> List[str]:
    """Warns that no step has ended for much longer than one takes, as the dashboard does."""
    since = [(rank.states[-1]["time_ns"] - rank.steps[-1]["end_ns"]) / 1e9
             for rank in ranks if rank.steps and rank.states and rank.end is None]
    longest = max((of.step for of in times.values()), default=0.0)
    if not since or min(since) <= max(STUCK_SECONDS, STUCK_STEPS * longest):
        return []
    return [f"no step has ended for {min(since):.0f} s"]


def _stall_lines(ranks: Sequence[Rank]) -> List[str]:
    """Lists tensors that wait, and for which ranks, as rank 0 knows them."""
    lines = []
    for rank in ranks:
        since = rank.stalls["time_ns"]
        later = max(rank.states[-1]["time_ns"] - since, 0) / 1e9 if rank.states else 0.0
        for tensor in rank.stalls["tensors"]:
            of = f" of process set {tensor['process_set']}" if tensor["process_set"] else ""
            missing = ", ".join(map(str, tensor["missing_ranks"]))
            lines.append(f"stalled: '{tensor['name']}'{of} has waited "
                         f"{tensor['waited_seconds'] + later:.0f} s; not submitted by ranks [{missing}]")
        if rank.stalls["left_out"]:
            lines.append(f"stalled: {rank.stalls['left_out']} more tensors")
    return lines


def _layer_rows(ranks: Sequence[Rank], most: int) -> List[Tuple[str, ...]]:
    """Returns the layers that waited longest in their newest step, on the rank that waited longest."""
    worst: Dict[str, Tuple[float, Dict[str, float], str]] = {}
    for rank in ranks:
        for number, row in rank.gradients.items():
            name = rank.names.get(number, {"name": "?", "compressor": "?"})
            latency = (row["end_ns"] - row["start_ns"]) / 1e9
            if latency > worst.get(name["name"], (-1.0,))[0]:
                worst[name["name"]] = (latency, row, name["compressor"])
    ordered = sorted(worst.items(), key=lambda item: -item[1][0])[:most]
    return [(name, compressor, seconds(latency), size(row["payload_bytes"]), percent(row["density"]))
            for name, (latency, row, compressor) in ordered]


def page(ranks: Sequence[Rank], layers: int) -> str:
    """Returns the page as a text."""
    times = {rank.rank: Times(rank) for rank in ranks if rank.steps}
    newest = max((int(rank.steps[-1]["step"]) for rank in ranks if rank.steps), default=-1)
    head = _summary(times, newest) if times else "no step has ended yet"
    lines = ["the job has ended; " + head if all(rank.end for rank in ranks) else head, ""]
    lines += table(("rank", "host", "step", "time", "own work", "exposed", "sent", "stalled", "state"),
                   _rank_rows(ranks, times))
    stalled = _stall_lines(ranks) or _stuck_lines(ranks, times)
    if stalled:
        lines += ["", *stalled]
    rows = _layer_rows(ranks, layers)
    if rows:
        lines += ["", *table(("layer", "compressor", "latency", "payload", "density"), rows)]
    return "\n".join(lines) + "\n"


def _parsed(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weir-top", description=__doc__,
        epilog="Where readers need a token it comes from WEIR_METRICS_TOKEN.")
    parser.add_argument("url", metavar="URL", help="rank 0's, such as http://localhost:9400")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS",
                        help="between two pages (default: 1); the ranks are asked whenever there is news")
    parser.add_argument("--layers", type=int, default=10, metavar="N",
                        help="show the N layers that wait longest (default: 10)")
    parser.add_argument("--once", action="store_true", help="look once, print it, and end")
    options = parser.parse_args(arguments)
    if not options.every > 0:
        parser.error(f"--every {options.every}: give a time above 0")
    if options.layers < 0:
        parser.error(f"--layers {options.layers}: give 0 or more")
    return options


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = _parsed(arguments)
    try:
        job = Job(options.url, os.environ.get("WEIR_METRICS_TOKEN", ""))
        job.look()
        if options.once:
            print(page(job.ranks, options.layers), end="")
            return 0
        while True:
            job.follow()
            with contextlib.ExitStack() as held:
                for rank in job.ranks:
                    held.enter_context(rank.lock)
                text = page(job.ranks, options.layers)
            print((CLEAR if sys.stdout.isatty() else "") + text, end="", flush=True)
            time.sleep(options.every)
    except (OSError, ValueError) as error:
        print(f"weir-top: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
