"""One fault in one job, by a row's name and a seed. Run in namespaces of its own (run.py): every process,
file in /dev/shm and System V segment here belongs to the case, so that what it leaves behind is seen.

    case.py ROW SEED WEIRRUN TRAINING_RANK [MINUTES]

The row "churn" takes minutes (churn.py).
"""

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, NamedTuple, Optional

COMPRESSIONS = ["dense", "fp16", "compressor=faulty,min_elements=1,policy=always,ef=vanilla",
                "compressor=topk,k=0.1,ef=vanilla,min_elements=1", "compressor=onebit,scaling=true,ef=vanilla",
                "compressor=powersgd,rank=16", "compressor=dgc,density=0.1,min_elements=1"]
# Within what a survivor learns of a death: milliseconds to 2 s.
DETECTION = 2.0


class Line(NamedTuple):
    at: float
    text: str


class Job:
    """A job of training_rank under weirrun, and the logs that its processes write."""

    def __init__(self, folder: pathlib.Path, command: List[str]) -> None:
        self.log = folder / "log"
        self.command = command
        with open(folder / "output", "w") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def wait(self, timeout: float = 40) -> int:
        """Returns the exit code. A job that does not end in time has hung (promise P1)."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        assert code is not None, f"the job has hung for {timeout} s"
        return code

    @property
    def output(self) -> str:
        """What weirrun and the ranks have written so far."""
        return (self.log.parent / "output").read_text()

    def lines(self) -> Dict[int, List[Line]]:
        """What each process has written, by its number."""
        logs = {}
        for path in self.log.parent.glob(self.log.name + ".*"):
            lines = [line.split(" ", 1) for line in path.read_text().splitlines()]
            logs[int(path.suffix[1:])] = [Line(int(at) / 1000, text) for at, text in lines]
        return logs

    def await_line(self, process: int, pattern: str, timeout: float = 20) -> re.Match:
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            for line in self.lines().get(process, []):
                found = re.match(pattern, line.text)
                if found:
                    return found
            time.sleep(0.005)  # A file has no other way to say that it has grown.
        raise AssertionError(f"process {process} has not written '{pattern}'")


class Case:
    """What a row works with: random numbers, a folder, and jobs."""

    def __init__(self, seed: int, folder: pathlib.Path, weirrun: str, training_rank: str) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.folder = folder
        self._weirrun, self._training_rank = weirrun, training_rank
        self.job: Optional[Job] = None

    def start(self, *options: str, ranks: int, steps: int = 40, commit_every: int = 5, faults: str = "",
              compression: Optional[str] = None, within: List[str] = (), step_ms: int = 0) -> Job:
        """``within``: words before the command, such as prlimit's. ``step_ms``: the shortest step."""
        if compression is None:
            compression = self.random.choice(COMPRESSIONS)
        self.job = Job(self.folder, [
            *within, self._weirrun, "-np", str(ranks), "--no-summary", *options, self._training_rank,
            str(self.folder / "log"), str(steps), str(commit_every), compression, faults, str(self.seed),
            str(step_ms)])
        return self.job

    def transport(self) -> List[str]:
        return ["--transport", self.random.choice(["mpi", "ucx"])]

    def phase(self, compression: str = "") -> str:
        phases = ["begin", "submit", "wait", "applied", "later", "later", "later"]
        return self.random.choice(phases + ["compress", "merge"] * ("faulty" in compression))


def stat_of(pid) -> List[str]:
    """The fields of /proc/PID/stat from the state on: the parent is the next one."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


# --- checks that hold after any fault ---

def epochs(lines: List[Line]) -> List[List[Line]]:
    """The lines of each epoch that a process has seen."""
    result = []
    for line in lines:
        if line.text.startswith("epoch "):
            result.append([])
        if result:
            result[-1].append(line)
    return result


def check_replicas(job: Job) -> None:
    """All ranks had the same values after every step that they took together (P4)."""
    hashes: Dict[tuple, Dict[str, int]] = {}
    for process, lines in job.lines().items():
        for of_epoch in epochs(lines):
            epoch = of_epoch[0].text.split()[1]
            for line in of_epoch:
                found = re.match(r"(?:step (\d+)|synced (\d+)).* hash (\w+)", line.text)
                if found:
                    place = (epoch, found[1] or f"before {found[2]}")
                    hashes.setdefault(place, {})[found[3]] = process
    for place, different in hashes.items():
        assert len(different) == 1, f"replicas differ after epoch and step {place}: {different}"


def check_unsent(job: Job) -> None:
    """What a rank has not sent is kept over a failure: neither lost nor doubled (P3)."""
    for process, lines in job.lines().items():
        committed = None
        for line in lines:
            found = re.match(r"(committed|synced) (\d+) unsent (\w+)", line.text)
            if not found:
                continue
            state = (found[2], found[3])
            if found[1] == "synced" and committed and committed[0] == found[2]:
                assert state == committed, f"process {process} had {committed}, and then {state}"
            committed = state


def check_nothing_left() -> None:
    """No process, no file, no segment stays behind (P8)."""
    own = os.getpid()
    until = time.monotonic() + 8
    left: List[str] = []
    while time.monotonic() < until:
        left = [f"/dev/shm/{name}" for name in os.listdir("/dev/shm")]
        left += [f"segment {line.split()[1]}" for line in open("/proc/sysvipc/shm").readlines()[1:]]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                state = stat_of(pid)[0]
                name = open(f"/proc/{pid}/cmdline").read().replace("\0", " ")
            except OSError:
                continue
            if int(pid) != own and state != "Z":
                left.append(f"process {pid}: {name:.80}")
        if not left:
            return
        time.sleep(0.02)
    raise AssertionError(f"left behind: {left}")


def check_told(job: Job, lost: int, survivors: List[int], why: str, since: Optional[float] = None,
               within: float = DETECTION) -> None:
    """Every survivor was told who is lost, and soon (P2) after the last sign of life."""
    logs = job.lines()
    death = logs[lost][-1].at if since is None else since
    for process in survivors:
        told = [line for line in logs[process] if line.text.startswith("lost ")]
        assert told, f"process {process} was not told: {logs[process][-3:]}"
        assert re.search(why, told[0].text), f"process {process} was told '{told[0].text}', not '{why}'"
        assert told[0].at - death < within, f"process {process} was told after {told[0].at - death:.2f} s"


def check_done(job: Job, processes: List[int], most_loss: float) -> None:
    logs = job.lines()
    for process in processes:
        done = [line.text for line in logs[process] if line.text.startswith("done ")]
        assert done, f"process {process} has not come to the end: {logs[process][-3:]}"
        loss = float(done[0].split()[2])
        assert loss < most_loss, f"process {process} ends with a loss of {loss}, not below {most_loss}"


def check_no_step(job: Job) -> None:
    for process, lines in job.lines().items():
        steps = [line.text for line in lines if line.text.startswith("step ")]
        assert not steps, f"process {process} has trained before it failed: {steps[-1]}"


def main() -> int:
    import churn
    import rows

    row, seed, weirrun, training_rank = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as name:
        case = Case(seed, pathlib.Path(name), weirrun, training_rank)
        try:
            if row == "churn":
                churn.churn(case, float(sys.argv[5]))
            else:
                getattr(rows, row)(case)
            if case.job is not None:
                check_replicas(case.job)
                check_unsent(case.job)
            check_nothing_left()
            return 0
        except AssertionError as trouble:
            print(f"{row}, seed {seed}: {trouble}")
            if case.job is not None:
                print("command:", *case.job.command)
                print(case.job.output)
                for process, lines in sorted(case.job.lines().items()):
                    print(f"process {process}:", *(f"  {line.at:.3f} {line.text}" for line in lines[-12:]),
                          sep="\n")
            return 1


if __name__ == "__main__":
    sys.exit(main())
