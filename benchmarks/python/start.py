"""Seconds from the command to the end of the first step, 4 ranks, over MPI and over UCX.

What PyTorch takes to be imported is left out: the time runs from the command to the first line of the
programs, and goes on when the last of them has imported.
"""

import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

from command_line import count
from report import Report, arguments

WEIRRUN = pathlib.Path(os.environ.get("WEIR_RUN_PROGRAM", "build/release/bin/weirrun")).absolute()
RANKS = pathlib.Path(__file__).with_name("start_ranks.py")
NP = 4


def start(transport):
    """Returns the seconds of the launcher, of init(), and of the rest of the first step."""
    began = time.time()
    done = subprocess.run([WEIRRUN, "-np", str(NP), "--transport", transport, "--no-prefix", "--no-summary",
                           sys.executable, RANKS], check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    lines = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    first, imported, joined, stepped = ([line[i] for line in lines] for i in range(4))
    return max(first) - began, max(joined) - max(imported), max(stepped) - max(joined)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=count, default=7)
    options = parser.parse_args()
    found = {"mpi": [], "ucx": []}
    order = list(found)
    shuffle = random.Random(1)
    for _ in range(options.repeats):
        shuffle.shuffle(order)
        for transport in order:
            found[transport].append(start(transport))
    report = Report("start")
    for transport, times in found.items():
        launcher, joined, stepped = (statistics.median(part) for part in zip(*times))
        report.rows.append({"over": transport, "command to programs s": launcher, "init() s": joined,
                            "first step s": stepped,
                            "together s": statistics.median(sum(parts) for parts in times)})
    mpi, ucx = (row["together s"] for row in report.rows)
    report.add_target("seconds over UCX", ucx, "<=", 1.0)
    report.add_target("UCX over MPI", ucx / mpi, "<=", 1.0)
    report.end(options)


if __name__ == "__main__":
    main()
