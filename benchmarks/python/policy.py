"""A step with compression=auto beside every fixed choice, on networks of several speeds.

Steps are those of the benchmark slow-network: gradients of well-known models, one rank a host. A fixed choice
whose bytes alone would take longer than --longest at a rate is not measured there: it cannot be the best.
What has been measured is kept in the file of --json, so that an interrupted run continues where it stopped.
"""

import json
import math
import pathlib
import sys
import tempfile

import netlab
from command_line import count, list_of, rates
from gradient_sets import SETS
from record_file import RecordFile
from report import Report, arguments
from slow_network import numbers

RANKS = pathlib.Path(__file__).with_name("slow_network_ranks.py")
AUTO, DENSE = "weir-auto", "weir-dense"
# Bytes that a rank sends, over those of the gradients, on four hosts.
CHOICES = {DENSE: 1.5, "weir-fp16": 0.75, "weir-int8": 0.75, "weir-onebit": 3 / 32, "weir-powersgd-4": 0.01,
           "weir-dgc": 0.005, "weir-dgc-split": 0.005, "weir-dgc-push-pull": 0.005, AUTO: 0.005}
WITHIN = 1.03


def parsed():
    parser = arguments(__doc__)
    parser.add_argument("--hosts", type=count, default=4, help="one rank on each (%(default)s)")
    parser.add_argument("--rates", type=rates, default="10mbit,100mbit,1gbit,10gbit,none", metavar="LIST",
                        help="as tc writes them; none: as fast as it goes (%(default)s)")
    parser.add_argument("--shapes", type=list_of(SETS), default="vgg16,resnet50,lstm", metavar="LIST",
                        help="sets of gradients (%(default)s)")
    parser.add_argument("--choices", type=list_of(CHOICES), default=",".join(CHOICES), metavar="LIST",
                        help="(%(default)s)")
    parser.add_argument("--backprop", type=numbers, default="0,0.25", metavar="LIST",
                        help="seconds of the backward pass (%(default)s)")
    parser.add_argument("--rounds", type=count, default=3, help="visits of each choice (%(default)s)")
    parser.add_argument("--steps", type=count, default=8, help="of a visit (%(default)s)")
    parser.add_argument("--longest", type=float, default=20.0, metavar="S",
                        help="seconds of a step that is still measured (%(default)s)")
    return parser.parse_args()


def bytes_of(shape):
    return 4 * sum(math.prod(one) for layer in SETS[shape]() for one in layer.shapes)


def worth_measuring(options, shape, rate):
    """Returns the choices whose bytes alone take no longer than --longest at a rate."""
    return [name for name in options.choices
            if 8 * CHOICES[name] * bytes_of(shape) / netlab.bits_per_second(rate) <= options.longest]


def measure(options, rate, shape, backprop):
    """Returns {choice: seconds of a step}."""
    columns = worth_measuring(options, shape, rate)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps(
            {"shape": shape, "columns": columns, "backprop": [backprop], "rounds": options.rounds,
             "steps": options.steps, "seconds": 3 * options.longest}))
        netlab.run("policy", options.hosts, rate, "--", "--no-summary", sys.executable, RANKS, folder)
        return {row["column"]: row["seconds"] for row in json.loads((folder / "rows.json").read_text())}


def compared(cell, seconds):
    """Returns the row of the report, and the ratios to the best fixed choice and to dense."""
    fixed = {name: took for name, took in seconds.items() if name != AUTO}
    best = min(fixed, key=fixed.get)
    to_dense = seconds[AUTO] / fixed[DENSE] if DENSE in fixed else 0.0
    rate, shape, backprop = cell
    return {"rate": rate, "shapes": shape, "backprop": backprop, "auto s": seconds[AUTO],
            "best fixed": best.removeprefix("weir-"), "s": fixed[best], "auto / best": seconds[AUTO] / fixed[best],
            "auto / dense": to_dense or "not measured"}, to_dense


def main():
    options = parsed()
    file, report = RecordFile("policy", options.json), Report("policy")
    known = {tuple(row["cell"]): row["seconds"] for row in file.whole["rows"]}
    of_dense = []
    for rate in options.rates:
        for shape in options.shapes:
            for backprop in options.backprop:
                cell = (rate, shape, backprop)
                if cell not in known:
                    known[cell] = measure(options, *cell)
                    file.whole["rows"].append({"cell": cell, "seconds": known[cell]})
                    file.write()
                row, to_dense = compared(cell, known[cell])
                report.rows.append(row)
                of_dense.append(to_dense)
    report.add_target("most of auto / best fixed choice", max(row["auto / best"] for row in report.rows), "<=",
                      WITHIN)
    report.add_target("most of auto / dense", max(of_dense), "<=", 1.0)
    file.whole["targets"] = report.targets
    file.write()
    report.print()


if __name__ == "__main__":
    main()
