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
import pathlib
import shlex
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "experiments"))

import experiment_report  # noqa: E402
from curves_svg import svg  # noqa: E402
from kept_runs import KeptRuns, add_arguments  # noqa: E402

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


def name_of(run):
    return f"{run['method']}-rate{run['rate']:g}-seed{run['seed']}"


def command(run, options, result):
    return [
        *shlex.split(options.launcher.format(ranks=run["ranks"])), options.program,
        "--text", options.text, "--steps", str(run["steps"]), "--batch", str(run["batch"]),
        "--lr", str(run["rate"]), "--momentum", str(run["momentum"]), "--schedule",
        run["schedule"], "--seed", str(run["seed"]), "--compressor", run["compressor"],
        "--eval-every", str(run["eval_every"]), "--json", str(result), "--quiet",
    ]


def shown(result):
    bits = result["bits_per_byte"]
    return "diverged" if bits is None else f"{bits:.4f} bits per byte"


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser, "byte-lm")
    parser.add_argument("--program", default="build/release/bin/byte-lm")
    parser.add_argument("--text", default="examples/data/tinyshakespeare.txt")
    parser.add_argument("--steps", type=int, default=SETTINGS["steps"],
                        help="steps of a run (default %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="print the commands of the grid and stop")
    return parser.parse_args(argv)


def main(argv=None):
    options = parse_arguments(argv)
    settings = {**SETTINGS, "steps": options.steps}
    runs = KeptRuns(options.out, name_of, lambda run, result: command(run, options, result), shown)
    if options.dry_run:
        for run in grid(settings):
            print(shlex.join(command(run, options, runs.path(run))))
        return 0
    options.report.mkdir(parents=True, exist_ok=True)
    kept_runs = runs.all(grid(settings))
    best_rates = {name: experiment_report.best_rate(kept_runs, name) for name in METHODS}
    kept_runs += runs.all(repetitions(settings, best_rates))
    findings = experiment_report.analyse(kept_runs, list(METHODS), SEEDS[0])
    (options.report / "byte-lm.md").write_text(experiment_report.markdown(findings))
    (options.report / "byte-lm.svg").write_text(
        svg(experiment_report.curves(findings), "step", "validation, bits per byte"))
    print(f"\n{experiment_report.markdown(findings)}")
    if not all(method["inside"] for method in findings["methods"].values()):
        print("experiment: a method's best rate is at the edge of its grid; widen the grid",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
