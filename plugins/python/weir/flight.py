"""weir-flight: explains who held a job up, from the recordings that its ranks wrote when it failed or
stalled, or when somebody sent weirrun a SIGUSR1.

Give it any rank's file (weir.weirflight), and it reads the other ranks' beside it; or give it all
files.
"""

import argparse
import os
import re
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from weir._rank_files import may_be_same_job, rank_files
from weir.runlog import STAGES, RunLog

_SHOWN = 8  # Tensors; a job that hangs in one place usually waits for many.
_LONG_NS = 1e9  # Wait for others. Ranks wait shorter times for each other in every step.


class Rank(NamedTuple):
    """One rank's recording."""

    rank: int
    path: str
    host: str
    job: str  # The id of its job; "": not known.
    size: int
    event: str
    reason: str
    time_ns: int
    wall_ns: int
    request: int  # Number of the request, if it was asked for.
    under_way: Dict[Tuple[int, str], Any]  # By process set and name.
    joined: Tuple[int, ...]  # Process sets in which it had no more data.
    last_finished: str
    last_stage: str
    damaged: int  # Bytes of its file.

    def lacks(self, tensor: Tuple[int, str]) -> bool:
        """True if others waited for it."""
        return tensor not in self.under_way and tensor[0] not in self.joined


def _age(nanoseconds: float) -> str:
    seconds = max(0.0, nanoseconds / 1e9)
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _last_stage(log: RunLog, rank: int, now_ns: int) -> str:
    stages = log.stages(rank)
    if not stages or not len(stages["end_ns"]):
        return "it had recorded nothing"
    last = int(stages["end_ns"].argmax())
    bucket = log.buckets(rank).get(int(stages["bucket"][last]), {})
    step = int(stages["step"][last])
    where = f" in step {step}" if step >= 0 else ""
    failed = "" if stages["ok"][last] else " (failed)"
    return (f"its last stage was {STAGES[int(stages['stage'][last])]} of '{bucket.get('name', '?')}'"
            f"{where}, {_age(now_ns - int(stages['end_ns'][last]))} before{failed}")


def _rank(log: RunLog, rank: int, path: str) -> Rank:
    flight = log.flight(rank)
    try:
        run = log.run(rank)
    except KeyError:
        raise ValueError(f"{path} is damaged: the block that says which job it is of is gone") from None
    under_way = {(one["process_set"], one["name"]): one for one in flight["under_way"]}
    return Rank(rank, path, run["host"], log.job(rank), run["size"], flight["event"], flight["reason"],
                flight["time_ns"], run["unix_time_at_0_ns"] + flight["time_ns"], flight.get("request", 0),
                under_way, tuple(flight.get("joined", ())), flight["last_finished"],
                _last_stage(log, rank, flight["time_ns"]), sum(damage.bytes for damage in log.damages))


def _of_one_event(ranks: Sequence[Rank]) -> List[Rank]:
    """Keeps the recordings of the newest event: a rank with only an earlier event's did not live to
    record, or answer, the last one."""
    if any(rank.event == "failure" for rank in ranks):
        return [rank for rank in ranks if rank.event == "failure"]
    newest = max(ranks, key=lambda rank: rank.wall_ns)
    return [rank for rank in ranks if (rank.event, rank.request) == (newest.event, newest.request)]


def _rank_0s(path: str) -> str:
    """Returns the path of rank 0's file, existing or not, beside a file that may be any rank's."""
    match = re.fullmatch(r"(.+)\.rank(\d+)(\.[^./]*)?", path)
    if match is None or not os.path.exists(path):
        return path
    # Rank 0's own file may have such a name, too.
    is_its = int(match.group(2)) in RunLog([path]).ranks
    return match.group(1) + (match.group(3) or "") if is_its else path


def _files(path: str) -> List[str]:
    """Returns any rank's recording, and those beside it."""
    first = _rank_0s(path)
    found = list(rank_files(first).values())
    # Rank 0 may be the one without a recording.
    return found[1:] if len(found) > 1 and not os.path.exists(first) else found


def _read_all(paths: Sequence[str]) -> List[Rank]:
    """Reads these recordings, or one and those beside it."""
    ranks: List[Rank] = []
    paths = list(dict.fromkeys(paths))  # Each once.
    for path in paths if len(paths) > 1 else _files(paths[0]):
        log = RunLog([path])
        mine = [rank for rank in log.ranks if log.flight(rank) is not None]
        if not mine:
            raise ValueError(f"{path} is a run log, not a flight recording: give a *.weirflight")
        ranks += [_rank(log, rank, path) for rank in mine]
    return ranks


def _of_one_job(ranks: Sequence[Rank], paths: Sequence[str]) -> List[Rank]:
    """Leaves out recordings of other jobs in the same folder: the job is that of the one file that is
    named, else the newest."""
    named = [rank for rank in ranks if {rank.path} == set(paths)]
    job = (named or [max(ranks, key=lambda rank: rank.wall_ns)])[0].job
    return [rank for rank in ranks if may_be_same_job(rank.job, job)]


def read(paths: Sequence[str]) -> List[Rank]:
    """Reads the ranks' recordings, by rank: of the job of the one file that is named, else of the
    newest. Raises OSError, and ValueError for files that are not recordings."""
    return sorted(_of_one_event(_of_one_job(_read_all(paths), paths)))


def _list(ranks: Sequence[int]) -> str:
    text = ", ".join(map(str, ranks))
    return f"rank {text}" if len(ranks) == 1 else f"ranks {text}"


def _without_recording(ranks: Sequence[Rank]) -> List[int]:
    present = {rank.rank for rank in ranks}
    return [rank for rank in range(ranks[0].size) if rank not in present]


def _tensor(ranks: Sequence[Rank], tensor: Tuple[int, str]) -> str:
    """Describes the state of a tensor that is under way somewhere."""
    having = [rank for rank in ranks if tensor in rank.under_way]
    others = [rank.rank for rank in ranks if rank.lacks(tensor)]
    exchanged = [rank for rank in having if rank.under_way[tensor]["phase"] == "exchange"]
    longest = max(rank.time_ns - rank.under_way[tensor]["since_ns"] for rank in having)
    name = f"'{tensor[1]}'" + (f" of process set {tensor[0]}" if tensor[0] else "")
    if exchanged:
        text = f"{name} was being exchanged by {_list([rank.rank for rank in exchanged])}"
    else:
        text = f"{name} had been ready for {_age(longest)} on {_list([rank.rank for rank in having])}"
    if others:
        text += f", and was not under way on {_list(others)}"
    return text


def _parted(ranks: Sequence[Rank], open_: Sequence[Tuple[int, str]]) -> str:
    """Describes the ranks that took another way than most, when each lacks something."""
    def lacking(tensor: Tuple[int, str]) -> List[int]:
        return [rank.rank for rank in ranks if rank.lacks(tensor)]

    most = min(open_, key=lambda tensor: len(lacking(tensor)))  # The oldest of those.
    few = lacking(most)
    if 2 * len(few) >= len(ranks):
        return "The ranks went different ways: each waits for what others have not submitted."
    return (f"{_list(few).capitalize()} went another way than the others: they waited for "
            f"'{most[1]}', which was not submitted there.")


def _ended_by(ranks: Sequence[Rank]) -> Optional[Tuple[int, str]]:
    """Returns the rank that ended the job, as the others report, and its reason; None: none is blamed.
    It had no time to submit the rest."""
    for rank in ranks:
        blamed = re.match(r"rank (\d+)(?: on \S+)? ended the job: (.*)", rank.reason, re.DOTALL)
        if blamed:
            own = [one.reason for one in ranks if one.rank == int(blamed[1])]
            return int(blamed[1]), (own or [blamed[2]])[0]
    return None


def explain(ranks: Sequence[Rank]) -> str:
    """Returns the whole story, as a text."""
    missing, size = _without_recording(ranks), ranks[0].size
    waited = sorted({tensor for rank in ranks for tensor in rank.under_way},
                    key=lambda tensor: min(rank.under_way[tensor]["since_ns"] for rank in ranks
                                           if tensor in rank.under_way))
    # Finds ranks that lack tensors which others wait for. A tensor that is exchanged somewhere was
    # submitted by all: a rank that lacks it has finished it. For sets without a rank that says little.
    open_ = [tensor for tensor in waited if tensor[0] == 0
             and not any(rank.under_way.get(tensor, {}).get("phase") == "exchange" for rank in ranks)]
    lacking = [rank for rank in ranks if any(rank.lacks(tensor) for tensor in open_)]
    longest = max((rank.time_ns - rank.under_way[tensor]["since_ns"] for rank in ranks for tensor in open_
                   if tensor in rank.under_way), default=0)
    lines = []
    ended_by = _ended_by(ranks)
    if ended_by:
        lines.append(f"Rank {ended_by[0]} ended the job: {ended_by[1]}")
    elif missing:
        lines.append(f"Look at {_list(missing)} first: no recording was left. Such a rank was killed, "
                     "hangs outside of Weir, or its host is gone.")
    elif lacking and longest < _LONG_NS and all(rank.event == "request" for rank in ranks):
        lines.append(f"No rank held the others up: none had waited for another one for longer than {_age(longest)}.")
    elif lacking and len(lacking) < len(ranks):
        lines.append(f"{_list([rank.rank for rank in lacking]).capitalize()} held the others up: what "
                     "they waited for was not submitted there.")
    elif lacking:
        lines.append(_parted(ranks, open_))
    elif not waited:
        lines.append("No rank was waiting for another one.")
    elif all(rank.event == "request" for rank in ranks) and not open_:
        lines.append("No rank held the others up: all were exchanging what was ready.")
    else:
        lines.append("All ranks had the same under way: look at the network between their hosts.")
    lines.append("")
    lines += [f"  {_tensor(ranks, tensor)}" for tensor in waited[:_SHOWN]]
    if len(waited) > _SHOWN:
        lines.append(f"  and {len(waited) - _SHOWN} more")
    if waited:
        lines.append("")
    for rank in ranks:
        finished = f"; the last it finished was '{rank.last_finished}'" if rank.last_finished else ""
        lines.append(f"rank {rank.rank} on {rank.host}: {rank.event}: {rank.reason}")
        lines.append(f"  {rank.last_stage}{finished}")
        if rank.damaged:
            lines.append(f"  {rank.path} is damaged: {rank.damaged} bytes of it could not be read")
        if rank.joined:
            lines.append("  it had joined: it had no more data, and the others went on without it")
    lines += [f"rank {rank} of {size}: no recording" for rank in missing]
    return "\n".join(lines) + "\n"


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="weir-flight", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="*.weirflight")
    options = parser.parse_args(arguments)
    try:
        every = _read_all(options.files)
        ranks = _of_one_job(every, options.files)
        print(explain(sorted(_of_one_event(ranks))), end="")
        others = [rank.path for rank in every if rank not in ranks]
        if others:
            print(f"weir-flight: of another job, and left out: {', '.join(others)}", file=sys.stderr)
    except FileNotFoundError as error:
        print(f"weir-flight: there is no {error.filename}: a rank leaves one when its job fails or stalls, and not "
              "when it was killed, or when another rank left early and in good order", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"weir-flight: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
