#!/usr/bin/env python3
"""Does byte-lm train as well with Deep Gradient Compression as dense?

Runs a grid fixed beforehand (methods x learning rates; the tables below) with the first seed, then
each method at its best rate with the other seeds. Each run is done once: its result is kept as one
JSON file under --out, so an interrupted experiment goes on where it stopped. All methods see the same
initial parameters, data and order for a seed. Then writes byte-lm.md (the tables, with the paired
difference between the methods, each at its best rate) and byte-lm.svg (the validation curves) to
--report.

Needs nothing but Python's standard library. Run it as ./scripts/experiment byte-lm.
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

import experiment_plot
import experiment_report

# What all runs share.
SETTINGS = {
    "ranks": 4,
    "steps": 20000,
    "batch": 32,
    "momentum": 0.9,
    "schedule": "cosine",
    "eval_every": 1000,
}

SEEDS = (1, 2, 3)  # The first one chooses the rate.

RATES = (0.025, 0.05, 0.1, 0.2)

# The first method is the one that the others are compared with.
METHODS = {
    "dense": {
        "compressor": "dense",
        "rates": RATES,
    },
    "dgc": {
        "compressor": "compressor=dgc,density=0.001,warmup_steps=1000",
        "rates": RATES,
    },
}


def one_run(settings, method, rate, seed):
    """The dictionary that defines a run."""
    return {**settings, "method": method, "compressor": METHODS[method]["compressor"],
            "rate": rate, "seed": seed}


def grid(settings):
    """The runs that find each method's best rate."""
    return [one_run(settings, method, rate, SEEDS[0])
            for method, choice in METHODS.items() for rate in choice["rates"]]


def repetitions(settings, best_rates):
    """The runs at the best rates with the other seeds."""
    return [one_run(settings, method, best_rates[method], seed)
            for seed in SEEDS[1:] for method in METHODS]


def file_name(run):
    return f"{run['method']}-rate{run['rate']:g}-seed{run['seed']}.json"


def command(run, options, result):
    return [
        *shlex.split(options.launcher.format(ranks=run["ranks"])), options.program,
        "--text", options.text, "--steps", str(run["steps"]), "--batch", str(run["batch"]),
        "--lr", str(run["rate"]), "--momentum", str(run["momentum"]), "--schedule",
        run["schedule"], "--seed", str(run["seed"]), "--compressor", run["compressor"],
        "--eval-every", str(run["eval_every"]), "--json", str(result), "--quiet",
    ]


def load(path, run):
    """The kept result of a run, or None if there is none. A file of another run is an error."""
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    if kept["run"] != run:
        changed = sorted(k for k in run.keys() | kept["run"].keys()
                         if run.get(k) != kept["run"].get(k))
        sys.exit(f"experiment: {path} was run with other settings ({', '.join(changed)}); "
                 "give another --out, or delete the file to run it again")
    return kept


def execute(run, options, path):
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    done = subprocess.run(command(run, options, partial), stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0 or not partial.exists():
        sys.exit(f"experiment: {path.stem} failed with exit code {done.returncode}\n"
                 f"{shlex.join(command(run, options, partial))}\n{done.stderr[-2000:]}")
    kept = {"run": run, "result": json.loads(partial.read_text())}
    # The rename makes the result whole or absent, whenever the experiment is interrupted.
    partial.write_text(json.dumps(kept, indent=1) + "\n")
    os.replace(partial, path)
    return kept


def run_all(runs, options):
    kept_runs = []
    for number, run in enumerate(runs, 1):
        path = options.out / file_name(run)
        kept = load(path, run)
        started = time.monotonic()
        how = "kept"
        if kept is None:
            kept = execute(run, options, path)
            how = f"{time.monotonic() - started:.0f} s"
        bits = kept["result"]["bits_per_byte"]
        text = "diverged" if bits is None else f"{bits:.4f} bits per byte"
        print(f"{number}/{len(runs)} {path.stem}: {text} ({how})", flush=True)
        kept_runs.append(kept)
    return kept_runs


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default="build/experiments/byte-lm",
                        help="folder of the runs' results (default %(default)s)")
    parser.add_argument("--report", type=pathlib.Path, default="docs/experiments",
                        help="folder that byte-lm.md and byte-lm.svg go to (default %(default)s)")
    parser.add_argument("--launcher", default="build/release/bin/weirrun -np {ranks}",
                        help="what starts the ranks (default '%(default)s')")
    parser.add_argument("--program", default="build/release/bin/byte-lm")
    parser.add_argument("--text", default="examples/data/tinyshakespeare.txt")
    parser.add_argument("--steps", type=int, default=SETTINGS["steps"],
                        help="steps of a run (default %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="print the commands of the grid and stop")
    return parser.parse_args(argv)


def main(argv=None):
    options = parse_arguments(argv)
    settings = {**SETTINGS, "steps": options.steps}
    if options.dry_run:
        for run in grid(settings):
            print(shlex.join(command(run, options, options.out / file_name(run))))
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    options.report.mkdir(parents=True, exist_ok=True)
    kept_runs = run_all(grid(settings), options)
    best_rates = {name: experiment_report.best_rate(kept_runs, name) for name in METHODS}
    kept_runs += run_all(repetitions(settings, best_rates), options)
    findings = experiment_report.analyse(kept_runs, list(METHODS), SEEDS[0])
    (options.report / "byte-lm.md").write_text(experiment_report.markdown(findings))
    (options.report / "byte-lm.svg").write_text(experiment_plot.svg(findings))
    print(f"\n{experiment_report.markdown(findings)}")
    if not all(method["inside"] for method in findings["methods"].values()):
        print("experiment: a method's best rate is at the edge of its grid; widen the grid",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
