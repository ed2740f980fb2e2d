"""weir-trace: merges the traces that the ranks of a job wrote (--timeline-filename) into one."""

import argparse
import json
import re
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from weir._rank_files import may_be_same_job, rank_files, stem_and_ending

Event = Dict[str, Any]


class Unreadable(Exception):
    """A file that is not a trace of Weir; the message names it and says why."""


class Clock(NamedTuple):
    """Offset to add to a rank's clock for rank 0's, and its largest error."""

    offset_ns: int
    error_ns: int

    def may_be(self, other: "Clock") -> bool:
        """True if both may be measurements of one clock."""
        return abs(self.offset_ns - other.offset_ns) <= self.error_ns + other.error_ns


class Trace:
    """One rank's trace."""

    def __init__(self, path: str):
        self.path = path
        self.events, self.is_whole = _read(path)
        self.rank, self.host, self.size, self.unix_time_at_0_ns = -1, "", 0, 0
        self.clock: Optional[Clock] = None
        self.job = ""  # The id of its job; "": not known.
        for event in self.events:
            if event.get("name") == "process_name":
                name = re.fullmatch(r"rank (\d+) of (\d+) on (.*)", str(event["args"].get("name")))
                if name:
                    self.rank, self.size, self.host = int(name[1]), int(name[2]), name[3]
            if event.get("name") == "process_sort_index":
                self.unix_time_at_0_ns = event["args"]["unix_time_at_0_ns"]
                self.job = event["args"].get("job", "")
                if "clock_offset_ns" in event["args"]:
                    self.clock = Clock(event["args"]["clock_offset_ns"],
                                       event["args"]["clock_error_ns"])
        if self.rank < 0 or self.unix_time_at_0_ns == 0:
            raise Unreadable(f"{path} is not a trace of Weir: it does not say which rank wrote it")

    def tracks(self) -> Dict[int, str]:
        """Returns {track: its name}."""
        return {event["tid"]: event["args"]["name"] for event in self.events
                if event.get("name") == "thread_name"}


def _read(path: str) -> Tuple[List[Event], bool]:
    """Returns the events of a file, and whether those are all."""
    is_whole = True
    with open(path, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError:
            raise Unreadable(f"{path} is not a trace: it is not text") from None
    try:
        events = json.loads(text)
    except ValueError:
        # A FILE.part of a killed job: it ends with a whole event, or in the middle of one.
        is_whole = False
        lines = text.rstrip().split("\n")
        for end in (len(lines), len(lines) - 1):
            try:
                events = json.loads("\n".join(lines[:end]).rstrip().rstrip(",") + "]")
                break
            except ValueError:
                continue
        else:
            raise Unreadable(f"{path} is not a trace: it is not JSON") from None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise Unreadable(f"{path} is not a trace: it must be an array of events")
    return events, is_whole


class Shift(NamedTuple):
    """Microseconds to add to a rank's times for the time axis of the first trace."""

    by: float
    error: Optional[float]  # At most; None: unknown.


def shifts(traces: Sequence[Trace]) -> Dict[int, Shift]:
    """Returns {rank: its shift}. Uses the ranks' measurements of their clocks at the start. If one has
    none, ranks of a host share a clock, and hosts are lined up by their wall clocks."""
    measured = {trace.rank: trace.clock for trace in traces if trace.clock is not None}
    if len(measured) == len(traces):
        return _measured_shifts(traces, measured)
    clocks: Dict[str, int] = {}
    for trace in traces:
        clocks.setdefault(trace.host, trace.unix_time_at_0_ns)
    first = clocks[traces[0].host]
    return {trace.rank: Shift((clocks[trace.host] - first) / 1000, None) for trace in traces}


def _measured_shifts(traces: Sequence[Trace], measured: Dict[int, Clock]) -> Dict[int, Shift]:
    # Ranks of a host have one clock: its best measurement counts for all, unless that is impossible,
    # because several hosts look like one.
    best: Dict[str, Clock] = {}
    for trace in traces:
        known = best.setdefault(trace.host, measured[trace.rank])
        best[trace.host] = min(known, measured[trace.rank], key=lambda clock: clock.error_ns)
    used = {trace.rank: best[trace.host] if measured[trace.rank].may_be(best[trace.host])
            else measured[trace.rank] for trace in traces}
    first = used[traces[0].rank]
    return {rank: Shift((clock.offset_ns - first.offset_ns) / 1000,
                        0.0 if clock is first else (clock.error_ns + first.error_ns) / 1000)
            for rank, clock in used.items()}


def _label(rank: int, shift: Shift) -> Event:
    """Shown beside the rank's name."""
    known = "by wall clocks" if shift.error is None else f"± {shift.error:.1f} us"
    return {"name": "process_labels", "ph": "M", "pid": rank,
            "args": {"labels": f"clock {shift.by:+.1f} us {known}"}}


def _exchanges(traces: Sequence[Trace]) -> Dict[Tuple[Any, ...], List[Event]]:
    """Returns the events of each collective, by its name on all ranks: its track's name, the operation,
    the step, and the number of earlier ones of these."""
    found: Dict[Tuple[Any, ...], List[Event]] = {}
    for trace in traces:
        tracks = trace.tracks()
        seen: Dict[Tuple[Any, ...], int] = {}
        for event in trace.events:
            if event.get("cat") != "exchange":
                continue
            what = (tracks.get(event["tid"]), event["name"], event["args"]["step"])
            number = seen[what] = seen.get(what, -1) + 1
            found.setdefault((*what, number), []).append(event)
    return found


def _flows(traces: Sequence[Trace]) -> Iterator[Event]:
    """Yields arrows that join the ranks of a collective, from the one that began first to the last one."""
    for number, events in enumerate(_exchanges(traces).values(), 1):
        if len(events) < 2:
            continue
        events = sorted(events, key=lambda event: event["ts"])
        for place, event in enumerate(events):
            phase = "s" if place == 0 else "f" if place == len(events) - 1 else "t"
            flow = {"name": event["name"], "cat": "collective", "ph": phase, "id": number,
                    "ts": event["ts"], "pid": event["pid"], "tid": event["tid"]}
            # At its beginning the event itself is meant, not the next one.
            yield {**flow, "bp": "e"} if phase == "f" else flow


def merge(paths: Sequence[str]) -> List[Event]:
    """Returns the events of all files on one time axis, with flows. Raises OSError, and Unreadable."""
    return _merge(_checked([Trace(path) for path in paths]))[0]


def _read_all(path: str) -> List[Trace]:
    """Reads a rank's trace, and those of other ranks of its job beside it."""
    traces = [Trace(file) for file in rank_files(path).values()]
    job = next(trace.job for trace in traces if trace.path == path)
    return [trace for trace in traces if may_be_same_job(trace.job, job)]


def _checked(traces: List[Trace]) -> List[Trace]:
    """Returns the traces. Raises Unreadable if they are not of one run, or two of one rank."""
    jobs = {trace.job: trace.path for trace in traces if trace.job}
    if len(jobs) > 1:
        one, other = list(jobs.values())[:2]
        raise Unreadable(f"{one} and {other} are of different jobs: give traces of one run")
    ranks = [trace.rank for trace in traces]
    for rank in ranks:
        if ranks.count(rank) > 1:
            same = [trace.path for trace in traces if trace.rank == rank]
            raise Unreadable(f"rank {rank} wrote {' and '.join(same)}: give traces of one run")
    return traces


def _merge(traces: Sequence[Trace]) -> Tuple[List[Event], Dict[int, Shift]]:
    added = shifts(traces)
    for trace in traces:
        for event in trace.events:
            if "ts" in event:
                event["ts"] += added[trace.rank].by
    events = [event for trace in traces for event in trace.events]
    events += [_label(rank, shift) for rank, shift in added.items()]
    return events + list(_flows(traces)), added


def _how_well(added: Dict[int, Shift]) -> str:
    """Describes how well the clocks are aligned, for people."""
    errors = {rank: shift.error for rank, shift in added.items() if shift.error is not None}
    if len(errors) < len(added):
        return "hosts are lined up by their wall clocks: their ranks have not measured more"
    worst = max(errors, key=lambda rank: errors[rank])
    return f"clocks are aligned to {errors[worst]:.1f} us or better (rank {worst})"


def _parsed(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="weir-trace", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("merge", help="one trace of those of all ranks, for Perfetto")
    command.add_argument("file", help="rank 0's; those of the others lie beside it")
    command.add_argument("more", nargs="*", help="files of other ranks that lie elsewhere")
    command.add_argument("-o", "--output", metavar="FILE",
                         help="where it is written (default: FILE.merged.json for FILE.json)")
    return parser.parse_args(arguments)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = _parsed(arguments)
    stem, ending = stem_and_ending(options.file)
    output = options.output or f"{stem}.merged{ending.removesuffix('.part')}"
    try:
        traces = _read_all(options.file) + [Trace(path) for path in options.more]
        events, added = _merge(_checked(traces))
        with open(output, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    except (OSError, Unreadable) as error:
        print(f"weir-trace: {error}", file=sys.stderr)
        return 1
    size = max(trace.size for trace in traces)
    ranks = f"{size} ranks" if len(traces) == size else f"{len(traces)} of {size} ranks"
    print(f"weir-trace: {ranks}, {len(events)} events in {output}; {_how_well(added)}")
    for trace in traces:
        if not trace.is_whole:
            print(f"weir-trace: {trace.path} is cut off: its last whole event is the last of rank {trace.rank}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
