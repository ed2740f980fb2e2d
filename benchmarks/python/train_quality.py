"""Compares compressed with dense training, on three models.

Every configuration is trained with the same seeds, data order and schedule as dense training, and
judged by the paired difference to it. benchmarks/python/train_quality_grid.py lists them. A run that is
in the file of --json already is not repeated, so that an interrupted benchmark continues where it
stopped. All of it takes hours.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from command_line import count, list_of, plot_file
from report import arguments
from train_quality_grid import grid, words
from train_quality_report import TrainQualityReport
from train_quality_store import Store

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def minutes(text):
    """Type of --minutes."""
    try:
        if float(text) >= 0:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text}: give a number of minutes from 0")


def parsed():
    parser = arguments(__doc__)
    known = [word for kind in words().values() for word in kind]
    kinds = "; ".join(f"{kind}: {', '.join(some)}" for kind, some in words().items())
    parser.add_argument("--only", type=list_of(known), default=[], metavar="LIST",
                        help="restricts the runs to those with one of the given words, of each kind "
                             f"of which there is one. {kinds}")
    parser.add_argument("--seeds", type=count, default=6, metavar="N", help="(%(default)s)")
    parser.add_argument("--ranks", type=count, default=2, metavar="N",
                        help="processes of a training (%(default)s)")
    parser.add_argument("--minutes", type=minutes, metavar="M",
                        help="begin no run after so many minutes; 0: only report what there is")
    parser.add_argument("--markdown", metavar="FILE", help="also write the tables there")
    parser.add_argument("--plot", type=plot_file, metavar="FILE",
                        help="also draw the differences to dense, as .svg or .png")
    return parser.parse_args()


def measure(runs, store, ranks, limit=None):
    """Trains the runs in one job, which writes each one to the file `store`, and begins none after
    `limit` seconds. Returns the job's exit code; what it wrote stays."""
    with tempfile.TemporaryDirectory() as name:
        order = {"runs": runs, "store": str(store), "seconds": limit}
        (pathlib.Path(name) / "order.json").write_text(json.dumps(order))
        launcher = os.environ.get("WEIR_RUN_PROGRAM", ROOT / "build/release/bin/weirrun")
        command = [launcher, "-np", str(ranks), sys.executable, HERE / "train_quality_ranks.py",
                   name]
        return subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"},
                              stdin=subprocess.DEVNULL, check=False).returncode


def measure_missing(runs, path, ranks, limit=None, job=measure):
    """Trains the runs that the file lacks. A failed job is followed by another one as long as they make
    progress, because a host may be taken for lost within hours. Ends the benchmark when one makes none."""
    begin = time.monotonic()
    while missing := Store(path, ranks).missing(runs):
        code = job(missing, path, ranks, limit and max(0.0, limit - (time.monotonic() - begin)))
        if code == 0:
            return  # No time is left for the missing runs.
        said = f"train-quality: the job ended with exit code {code}"
        if Store(path, ranks).missing(runs) == missing:
            sys.exit(f"{said} and finished no run; what others had finished is in {path}")
        print(f"{said}; another one goes on", file=sys.stderr, flush=True)


def main():
    options = parsed()
    with tempfile.TemporaryDirectory() as folder:
        path = options.json or pathlib.Path(folder) / "records.json"
        runs = grid(options.seeds, options.only)
        missing = Store(path, options.ranks).missing(runs)
        print(f"train-quality: {len(missing)} of {len(runs)} runs are to be measured",
              file=sys.stderr, flush=True)
        if options.minutes != 0:
            measure_missing(runs, path, options.ranks, options.minutes and 60 * options.minutes)
        store = Store(path, options.ranks)
        report = TrainQualityReport(store.rows())
        report.print()
        store.set_targets(report.targets)
    if options.markdown:
        pathlib.Path(options.markdown).write_text(report.markdown(), encoding="utf-8")
    if options.plot:
        import train_quality_plot

        train_quality_plot.save(report.groups, options.plot)


if __name__ == "__main__":
    main()
