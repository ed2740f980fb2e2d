"""weir-trace: makes one trace of those that the ranks of a job wrote (--timeline-filename)."""

import argparse
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from weir._rank_files import rank_files

Event = Dict[str, Any]


class Unreadable(Exception):
    """A file that is no trace of Weir's; the message names it and says why."""


class Trace:
    """What one rank wrote."""

    def __init__(self, path: str):
        self.path = path
        self.events = _read(path)
        self.rank, self.host, self.unix_time_at_0_ns = -1, "", 0
        for event in self.events:
            if event.get("name") == "process_name":
                self.rank = event["pid"]
                self.host = event["args"]["name"].partition(" on ")[2]
            if event.get("name") == "process_sort_index":
                self.unix_time_at_0_ns = event["args"]["unix_time_at_0_ns"]
        if self.rank < 0 or self.unix_time_at_0_ns == 0:
            raise Unreadable(f"{path} is no trace of Weir's: it does not say which rank wrote it")

    def tracks(self) -> Dict[int, str]:
        """{track: its name}"""
        return {event["tid"]: event["args"]["name"] for event in self.events
                if event.get("name") == "thread_name"}


def _read(path: str) -> List[Event]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        events = json.loads(text)
    except ValueError:
        # A FILE.part of a job that was killed: it ends with a whole event, or in the middle of one.
        lines = text.rstrip().split("\n")
        for end in (len(lines), len(lines) - 1):
            try:
                events = json.loads("\n".join(lines[:end]).rstrip().rstrip(",") + "]")
                break
            except ValueError:
                continue
        else:
            raise Unreadable(f"{path} is no trace: it is not JSON") from None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise Unreadable(f"{path} is no trace: an array of events is meant")
    return events


def shifts(traces: Sequence[Trace]) -> Dict[int, float]:
    """{rank: microseconds that its times get added} for one time axis, that of the first trace. Ranks
    of a host share a clock; hosts are lined up by their wall clocks."""
    clocks: Dict[str, int] = {}
    for trace in traces:
        clocks.setdefault(trace.host, trace.unix_time_at_0_ns)
    first = clocks[traces[0].host]
    return {trace.rank: (clocks[trace.host] - first) / 1000 for trace in traces}


def _exchanges(traces: Sequence[Trace]) -> Dict[Tuple[Any, ...], List[Event]]:
    """The events of each collective, by what all ranks call it: its track's name, the operation, the
    step, and how many of that there were before."""
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
    """Arrows that join the ranks of a collective, from who began first to who began last."""
    for number, events in enumerate(_exchanges(traces).values(), 1):
        if len(events) < 2:
            continue
        events = sorted(events, key=lambda event: event["ts"])
        for place, event in enumerate(events):
            phase = "s" if place == 0 else "f" if place == len(events) - 1 else "t"
            flow = {"name": event["name"], "cat": "collective", "ph": phase, "id": number,
                    "ts": event["ts"], "pid": event["pid"], "tid": event["tid"]}
            # At its beginning, the event itself and not the next one is meant.
            yield {**flow, "bp": "e"} if phase == "f" else flow


def merge(paths: Sequence[str]) -> List[Event]:
    """The events of all files on one time axis, with flows. Raises OSError, and Unreadable."""
    traces = [Trace(path) for path in paths]
    ranks = [trace.rank for trace in traces]
    for rank in ranks:
        if ranks.count(rank) > 1:
            same = [trace.path for trace in traces if trace.rank == rank]
            raise Unreadable(f"rank {rank} wrote {' and '.join(same)}: traces of one run are meant")
    added = shifts(traces)
    for trace in traces:
        for event in trace.events:
            if "ts" in event:
                event["ts"] += added[trace.rank]
    return [event for trace in traces for event in trace.events] + list(_flows(traces))


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
    stem, ending = os.path.splitext(options.file)
    output = options.output or f"{stem}.merged{ending}"
    paths = [*rank_files(options.file).values(), *options.more]
    try:
        events = merge(paths)
        with open(output, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    except (OSError, Unreadable) as error:
        print(f"weir-trace: {error}", file=sys.stderr)
        return 1
    print(f"weir-trace: {len(paths)} ranks, {len(events)} events in {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
