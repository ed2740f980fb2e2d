"""How long a job of 4 ranks that loses one stands still, by the cause of the loss; and how many steps it
takes while ranks are lost and come, against a quiet run.

Ranks take steps of 20 ms on an accelerator that is not there (they sleep), so that the ranks which are
left do not run faster than four do. A step of the process that dies is not counted; the time runs from
the last sign of life of the lost rank to the first step that all others have finished after it.
"""

import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from command_line import count
from report import Report, arguments

WEIRRUN = pathlib.Path(os.environ.get("WEIR_RUN_PROGRAM", "build/release/bin/weirrun")).absolute()
RANKS = pathlib.Path(__file__).with_name("elastic_ranks.py")
NP = 4
HEARTBEAT_TIMEOUT = 3
HOST_SILENCE = 10


class Job:
    """A job of elastic_ranks.py, whose processes write "seconds step size" to a file each. Ends with the
    block that it is made for."""

    def __init__(self, folder, *options):
        self.folder = pathlib.Path(folder)
        self.process = subprocess.Popen(
            [WEIRRUN, "-np", str(NP), "--min-np", "1", "--heartbeat-timeout", str(HEARTBEAT_TIMEOUT), *options,
             sys.executable, RANKS, folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def steps(self):
        """{pid: [(seconds, step, size)]}"""
        found = {}
        for path in self.folder.glob("*.steps"):
            lines = [line.split() for line in path.read_text().splitlines()]
            found[int(path.stem)] = [(float(at), int(step), int(size)) for at, step, size in lines]
        return found

    def await_step(self, step):
        while True:
            steps = self.steps()
            if len(steps) >= NP and all(lines and lines[-1][1] >= step for lines in steps.values()):
                return steps
            if self.process.poll() is not None:
                sys.exit(f"the job has ended with {self.process.returncode}")
            time.sleep(0.05)

    def end(self):
        (self.folder / "end").touch()
        if self.process.wait(60) != 0:
            sys.exit(f"the job has ended with {self.process.returncode}")
        return self.steps()


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def crash(pid):
    os.kill(pid, signal.SIGSEGV)


def kill_supervisor(pid):
    os.kill(parent_of(pid), signal.SIGKILL)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)


def silence(pid):
    """As a host that falls silent: nothing that belongs to the rank says anything any more. Returns the
    processes, which nobody ends before they wake."""
    processes = parent_of(pid), pid
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    return processes


CAUSES = [("killed", kill, 2.0), ("crashed", crash, 2.0), ("its supervisor killed", kill_supervisor, 2.0),
          ("stopped", stop, HEARTBEAT_TIMEOUT + 2.0), ("its host silent", silence, HOST_SILENCE + 2.0)]


def recovery(deed, number):
    """Seconds that the job stands still when the deed is done to a rank: each one in turn."""
    with tempfile.TemporaryDirectory() as folder, Job(folder) as job:
        steps = job.await_step(20)
        victim = sorted(steps)[number % NP]
        at = time.time()
        asleep = deed(victim) or ()
        while True:
            others = [lines for pid, lines in job.steps().items() if pid != victim]
            first = [next((line for line in lines if line[2] == NP - 1), None) for lines in others]
            if all(first):
                break
            if job.process.poll() is not None:
                sys.exit(f"the job has ended with {job.process.returncode}")
            time.sleep(0.05)
        for process in asleep:
            os.kill(process, signal.SIGCONT)
        job.end()
        return max(line[0] for line in first) - at


def rate(seconds, mean, seed):
    """Steps a second that the program has come forward, over some seconds; `mean`: between deaths."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, Job(folder, "--blacklist-cooldown-range", "0.1", "1") as job:
        start = max(lines[-1][1] for lines in job.await_step(20).values())
        began = time.monotonic()
        deaths = 0
        next_death = began + draw.expovariate(1 / mean) if mean else None
        while time.monotonic() < began + seconds:
            time.sleep(0.05)
            if next_death and time.monotonic() > next_death:
                recent = [pid for pid, lines in job.steps().items() if lines and lines[-1][0] > time.time() - 1]
                if recent:
                    kill(draw.choice(sorted(recent)))
                    deaths += 1
                next_death += draw.expovariate(1 / mean)
        elapsed = time.monotonic() - began
        reached = max(lines[-1][1] for lines in job.steps().values() if lines)
        job.end()
        return (reached - start) / elapsed, deaths


def main():
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=count, default=5, help="of each cause")
    parser.add_argument("--seconds", type=count, default=300, help="of each run with and without deaths")
    parser.add_argument("--mean", type=count, default=60, help="seconds between deaths")
    options = parser.parse_args()
    report = Report("elastic")
    found = {name: [] for name, _, _ in CAUSES}
    for repeat in range(options.repeats):
        for name, deed, _ in CAUSES:
            found[name].append(recovery(deed, repeat))
    for name, _, target in CAUSES:
        median = statistics.median(found[name])
        report.rows.append({"a rank of 4 is": name, "median s": median, "most s": max(found[name])})
        report.add_target(f"seconds to the next step, {name}", median, "<=", target)
    quiet, _ = rate(options.seconds, 0, 1)
    churned, deaths = rate(options.seconds, options.mean, 1)
    report.more["goodput"] = {"quiet steps/s": quiet, "steps/s": churned, "deaths": deaths,
                              "seconds": options.seconds}
    report.add_target(f"goodput with {deaths} deaths in {options.seconds} s", churned / quiet, ">=", 0.9)
    report.end(options)


if __name__ == "__main__":
    main()
