"""Steps with compression=auto on a network whose speed changes in mid-run, beside the fixed choices at each speed.

Steps are those of the benchmark slow-network. After each change the run takes --steps steps; the last 20 of
them count. "settled after" is the number of steps from a change until steps take no more than 1.2 times what the
last ones do.
"""

import json
import pathlib
import re
import sys
import tempfile

import netlab
from command_line import count, list_of, rates
from gradient_sets import SETS
from policy import AUTO, CHOICES, WITHIN, worth_measuring
from report import Report, arguments

RANKS = pathlib.Path(__file__).with_name("policy_change_ranks.py")
SETTLED = 50


def parsed():
    parser = arguments(__doc__)
    parser.add_argument("--hosts", type=count, default=2, help="one rank on each (%(default)s)")
    parser.add_argument("--rates", type=rates, default="10gbit,100mbit,10gbit", metavar="LIST",
                        help="one after the other, the fastest first (%(default)s)")
    parser.add_argument("--shape", choices=SETS, default="resnet50", help="set of gradients (%(default)s)")
    parser.add_argument("--backprop", type=float, default=0.0, metavar="S",
                        help="seconds of the backward pass (%(default)s)")
    parser.add_argument("--choices", type=list_of(CHOICES), default=",".join(CHOICES), metavar="LIST",
                        help="(%(default)s)")
    parser.add_argument("--steps", type=count, default=120, help="of auto at each rate (%(default)s)")
    parser.add_argument("--rounds", type=count, default=3, help="of the whole run (%(default)s)")
    parser.add_argument("--longest", type=float, default=10.0, metavar="S",
                        help="seconds of a step that is still measured (%(default)s)")
    options = parser.parse_args()
    if netlab.bits_per_second(options.rates[0]) < max(map(netlab.bits_per_second, options.rates)):
        parser.error("--rates: give the fastest first, because hosts receive at that rate all the time")
    return options


def measure(options):
    """Returns a row for each rate."""
    fixed = {rate: [name for name in worth_measuring(options, options.shape, rate) if name != AUTO]
             for rate in options.rates}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps({**vars(options), "fixed": fixed}))
        netlab.run("policy-change", options.hosts, options.rates[0], "--", "--no-summary", sys.executable, RANKS,
                   folder)
        return json.loads((folder / "rows.json").read_text())


def planned(explanation):
    """Returns what a line of explain() says that the gradients travel as."""
    return re.sub(r".*since step \d+, ([^:]*).*", r"\1", explanation)


def main():
    options = parsed()
    report = Report("policy-change")
    for row in measure(options):
        best = min(row["fixed"], key=row["fixed"].get)
        report.rows.append({"rate": row["rate"], "auto s": row["auto"], "plan": planned(row["plan"]),
                            "best fixed": best.removeprefix("weir-"), "s": row["fixed"][best],
                            "auto / best": row["auto"] / row["fixed"][best],
                            "settled after": row["settled_after"]})
    report.add_target("most of auto / best fixed choice", max(row["auto / best"] for row in report.rows), "<=",
                      WITHIN)
    if len(report.rows) > 1:
        report.add_target("most steps until settled", max(row["settled after"] for row in report.rows[1:]), "<=",
                          SETTLED)
    report.end(options)


if __name__ == "__main__":
    main()
