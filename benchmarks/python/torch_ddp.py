"""A step of DistributedDataParallel, with its own hooks and with Weir's, on 2 ranks: in one host and on
slow networks.

The gradients are those of slow-network's sets, handed out at once: what is measured is the exchange.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import netlab
from command_line import count, list_of
from gradient_sets import SETS
from report import Report, arguments, median_ratio
from slow_network_columns import COLUMNS

HERE = pathlib.Path(__file__).resolve().parent
WEIRRUN = netlab.ROOT / "build" / "release" / "bin" / "weirrun"
IN_ONE_HOST = "one host"
PLACES = [IN_ONE_HOST, "1gbit", "100mbit"]
SHAPES = ["small-200", "small-2000", "resnet50", "gpt"]
CHOSEN = ["ddp", "ddp-no-exchange", "ddp-fp16", "ddp-powersgd-4", "ddp-weir-none", "ddp-weir-fp16",
          "ddp-weir-dgc", "weir-dense", "weir-dgc"]


def parsed():
    parser = arguments(__doc__)
    parser.add_argument("--places", type=list_of(PLACES), default=",".join(PLACES), metavar="LIST",
                        help="one host, and rates as tc writes them (%(default)s)")
    parser.add_argument("--shapes", type=list_of(SETS), default=",".join(SHAPES), metavar="LIST",
                        help="sets of gradients (%(default)s)")
    parser.add_argument("--columns", type=list_of(COLUMNS), default=",".join(CHOSEN), metavar="LIST",
                        help="what is compared (%(default)s)")
    parser.add_argument("--rounds", type=count, default=5, metavar="N",
                        help="visits of each column, others in between (%(default)s)")
    parser.add_argument("--steps", type=count, default=5, metavar="N",
                        help="steps of a visit (%(default)s)")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S",
                        help="a visit that takes longer ends, and is the column's last (%(default)s)")
    return parser.parse_args()


def measure(options, place, shape):
    """Returns the rows of all columns on one set of gradients."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps(
            {**vars(options), "shape": shape, "columns": options.columns, "backprop": [0.0]}))
        program = [sys.executable, HERE / "slow_network_ranks.py", folder]
        if place == IN_ONE_HOST:
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
            subprocess.run([WEIRRUN, "-np", "2", *program], env=environment, check=True,
                           stdin=subprocess.DEVNULL)
        else:
            netlab.run("torch-ddp", 2, place, "--", *program)
        rows = {row["column"]: row for row in json.loads((folder / "rows.json").read_text())}
    base = rows["ddp"]["times"] if "ddp" in rows else None
    return [{"place": place, "shape": shape, "column": column, "ms": rows[column]["seconds"] * 1e3,
             "MB": rows[column]["MB"], "/ DDP": ratio_of(rows[column]["times"], base)}
            for column in options.columns]


def ratio_of(times, base):
    """Returns the median ratio of steps of one round; of medians, where a column has fewer steps."""
    if base is None:
        return float("nan")
    if len(times) == len(base):
        return median_ratio(times, base)
    return statistics.median(times) / statistics.median(base)


def add_targets(report):
    rows = {(row["place"], row["shape"], row["column"]): row for row in report.rows}
    for (place, shape, column), row in rows.items():
        if column == "ddp-weir-none":
            report.add_target(f"{shape}, {place}: none / DDP", row["/ DDP"], "<=", 1.0)
        if column == "ddp-weir-dgc" and (place, shape, "weir-dgc") in rows:
            report.add_target(f"{shape}, {place}: dgc / DistributedOptimizer's",
                              row["ms"] / rows[place, shape, "weir-dgc"]["ms"], "<=", 1.0)
        if column == "ddp-weir-dgc" and (place, shape) == ("100mbit", "resnet50"):
            report.add_target("resnet50, 100mbit: DDP / dgc", 1 / row["/ DDP"], ">=", 60.0)
            report.add_target("resnet50, 100mbit: PowerSGD of rank 4 / dgc",
                              rows[place, shape, "ddp-powersgd-4"]["ms"] / row["ms"], ">=", 4.0)


def main():
    options = parsed()
    report = Report("torch-ddp")
    for place in options.places:
        for shape in options.shapes:
            report.rows += measure(argparse.Namespace(**vars(options)), place, shape)
    add_targets(report)
    report.end(options)


if __name__ == "__main__":
    main()
