"""Minutes in which ranks of one elastic job die, stop, leave and come, again and again."""

import os
import pathlib
import re
import signal
import time
from typing import Dict, List

from case import Case, Job
from hosts import Hosts

MEAN_SECONDS = 20  # Between two events.
STEP_MS = 20  # So that ranks that are left are no faster than all of them.
QUIET_SECONDS = 60
HEARTBEAT_TIMEOUT = 3


def _at_work(job: Job) -> Dict[int, int]:
    """{process: pid} of those that have just taken a step."""
    found = {}
    for path in job.log.parent.glob(job.log.name + ".*"):
        if time.time() - path.stat().st_mtime > 0.5:
            continue
        with open(path, "rb") as log:
            begin = re.search(rb"process (\d+) begins\n", log.readline())
        if begin is None:
            continue
        pid = int(begin[1])
        if pathlib.Path(f"/proc/{pid}").exists():
            found[int(path.suffix[1:])] = pid
    return found


def _reached(job: Job) -> int:
    """The newest step that any process has taken."""
    newest = 0
    for path in job.log.parent.glob(job.log.name + ".*"):
        with open(path, "rb") as log:
            log.seek(max(0, path.stat().st_size - 1000))
            newest = max([newest, *(int(step) for step in re.findall(rb" step (\d+) ", log.read()))])
    return newest


def _write_hosts(script: pathlib.Path, slots: List[int]) -> None:
    """What weirrun runs to find its hosts, replaced at once."""
    other = script.with_suffix(".new")
    other.write_text(f"#!/bin/sh\necho localhost:{slots[0]}\necho 127.0.0.1:{slots[1]}\n")
    other.chmod(0o755)
    other.rename(script)


def _one_event(case: Case, job: Job, script: pathlib.Path) -> str:
    """Returns what was done; empty where it would have left nobody."""
    at_work = _at_work(job)
    deed = case.random.choices(["kill", "crash", "stop", "hosts"], [5, 2, 1, 2])[0]
    if deed == "hosts":
        _write_hosts(script, [2, case.random.choice([0, 1, 2])])
        return deed
    if len(at_work) < 2:
        return ""
    process = case.random.choice(sorted(at_work))
    os.kill(at_work[process], {"kill": signal.SIGKILL, "crash": signal.SIGSEGV, "stop": signal.SIGSTOP}[deed])
    return deed


def churn(case: Case, minutes: float) -> None:
    """Prints the goodput: steps that the job has come forward in a second, against a quiet run's."""
    script = case.folder / "hosts.sh"
    _write_hosts(script, [2, 2])
    Hosts(0, case.folder)  # Where a script finds the hosts, this one has to have an address.
    job = case.start("--min-np", "1", "--max-np", "4", "--host-discovery-script", str(script),
                     "--blacklist-cooldown-range", "0.5", "2", "--heartbeat-timeout", str(HEARTBEAT_TIMEOUT),
                     ranks=4, steps=1_000_000_000, commit_every=20, step_ms=STEP_MS)
    job.await_line(3, "step 20 ")
    began, start = time.monotonic(), _reached(job)
    time.sleep(min(QUIET_SECONDS, 10 * minutes))
    quiet = (_reached(job) - start) / (time.monotonic() - began)
    began, start = time.monotonic(), _reached(job)
    events: Dict[str, int] = {}
    while time.monotonic() < began + 60 * minutes:
        time.sleep(case.random.expovariate(1 / MEAN_SECONDS))
        assert job.process.poll() is None, "the job has ended"
        event = _one_event(case, job, script)
        if event:
            events[event] = events.get(event, 0) + 1
    forward = (_reached(job) - start) / (time.monotonic() - began)
    epochs = {line.text for lines in job.lines().values() for line in lines if line.text.startswith("epoch ")}
    job.process.terminate()
    found = job.wait()
    assert found == 128 + signal.SIGTERM, f"exit code {found}"
    print(f"churn, seed {case.seed}: {minutes:g} minutes, {events}, "
          f"{len({text.split()[1] for text in epochs})} epochs, goodput {forward / quiet:.3f} of {quiet:.1f} steps/s",
          flush=True)
