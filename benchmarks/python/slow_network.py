"""Seconds a step with the gradients of well-known models on slow networks, Weir beside DDP.

Each network is made by scripts/netlab, one rank on each host, and measured by a raw TCP transfer first.
A step is a backward pass, which hands out gradients of a model's real shapes, the last layer's first,
in --backprop seconds (0: the exchange alone), and the optimizer's step. A rate and set of gradients
that is in the file of --json already is not measured again, so that an interrupted run continues where
it stopped.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import netlab
from command_line import count, list_of, plot_file, rates
from gradient_sets import SETS
from record_file import RecordFile
from report import arguments
from slow_network_columns import COLUMNS
from slow_network_report import BOUNDED, Network, SlowNetworkReport

HERE = pathlib.Path(__file__).resolve().parent


def numbers(text):
    """Type of --backprop."""
    found = [float(word) for word in text.split(",")]
    if min(found) < 0:
        raise argparse.ArgumentTypeError(f"{min(found):g}: give seconds from 0")
    return found


def parsed():
    parser = arguments(__doc__)
    parser.add_argument("--hosts", type=count, default=4,
                        help="from 2, one rank on each (%(default)s)")
    parser.add_argument("--rates", type=rates, default="100mbit,1gbit,10gbit,none", metavar="LIST",
                        help="as tc writes them; none: as fast as it goes (%(default)s)")
    parser.add_argument("--shapes", type=list_of(SETS), default="vgg16,resnet50,lstm",
                        metavar="LIST", help="sets of gradients (%(default)s)")
    parser.add_argument("--columns", type=list_of(COLUMNS), default=",".join(COLUMNS),
                        metavar="LIST", help="what is compared (%(default)s)")
    parser.add_argument("--backprop", type=numbers, default="0,0.25", metavar="LIST",
                        help="seconds of the backward pass (%(default)s)")
    parser.add_argument("--rounds", type=count, default=3, metavar="N",
                        help="visits of each column, others in between (%(default)s)")
    parser.add_argument("--steps", type=count, default=3, metavar="N",
                        help="steps of a visit with each backprop (%(default)s)")
    parser.add_argument("--seconds", type=float, default=30.0, metavar="S",
                        help="a visit that takes longer ends, and is the column's last "
                             "(%(default)s)")
    parser.add_argument("--plot", type=plot_file, metavar="FILE",
                        help="also draw time over rate, as .svg or .png")
    return parser.parse_args()


def check(options, rate):
    """Returns the result of a raw TCP transfer, as the first cells of its rows."""
    checked = netlab.run("slow-network", options.hosts, rate, "--check", stdout=subprocess.PIPE)
    network = Network(rate, float(re.search(r"([\d.]+) Mb/s", checked).group(1)))
    return {"rate": rate, "TCP, Mb/s": network.measured, "reached": network.reached,
            "hosts": options.hosts}


def measure(options, rate, shape, columns, backprop):
    """Measures rows of these columns on one set of gradients."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps(
            {**vars(options), "shape": shape, "columns": columns, "backprop": backprop}))
        netlab.run("slow-network", options.hosts, rate, "--", sys.executable,
                   HERE / "slow_network_ranks.py", folder)
        return json.loads((folder / "rows.json").read_text())


def measure_work(shape, column):
    """Returns the processor time of a step of one rank, which sends nothing: kernels and the update."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps(
            {"shape": shape, "columns": [column], "backprop": [0.0], "rounds": 1, "steps": 9, "seconds": 60}))
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([sys.executable, HERE / "slow_network_ranks.py", folder], env=environment, check=True,
                       stdin=subprocess.DEVNULL)
        return json.loads((folder / "rows.json").read_text())[0]["processor seconds"]


def measure_missing_work(options, file):
    """Measures what the bound of a column's step needs (slow_network_report.py)."""
    known = {(row["shape"], row["column"]) for row in file.whole["work"]}
    for shape in options.shapes:
        for column in set(options.columns) & set(BOUNDED):
            if (shape, column) not in known:
                file.whole["work"].append({"shape": shape, "column": column,
                                           "processor seconds": measure_work(shape, column)})
                file.write()


def set_of(row):
    """Identifies rows that are measured in one go."""
    return row["rate"], row["shape"], row["hosts"]


def measure_missing(options, file):
    """A set of gradients is measured as a whole, together with its rows in the file, so that compared
    rows are measured in turn. A set is left alone if the file has all of it."""
    asked = {(column, backprop) for column in options.columns for backprop in options.backprop}
    for rate in options.rates:
        about = None
        for shape in options.shapes:
            this = (rate, shape, options.hosts)
            rows = file.whole["rows"]
            there = {(row["column"], row["backprop"]) for row in rows if set_of(row) == this}
            if asked <= there:
                continue
            about = about or check(options, rate)
            columns = [name for name in COLUMNS if name in {one for one, _ in asked | there}]
            backprop = sorted({seconds for _, seconds in asked | there})
            new = [{**about, **row} for row in measure(options, rate, shape, columns, backprop)]
            file.whole["rows"] = [row for row in rows if set_of(row) != this] + new
            file.write()


def main():
    options = parsed()
    file = RecordFile("slow-network", options.json, work=[])
    measure_missing(options, file)
    measure_missing_work(options, file)
    report = SlowNetworkReport([row for row in file.whole["rows"]
                                if row["hosts"] == options.hosts], file.whole["work"])
    report.add_targets()
    file.whole["targets"] = report.targets
    file.write()
    report.print()
    if options.plot:
        import slow_network_plot

        slow_network_plot.save(report.rows, options.plot)


if __name__ == "__main__":
    main()
