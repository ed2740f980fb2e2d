"""The part of a step's time that computes, where every step is synchronised, on networks of several speeds.

The grid is that of the measurements of DiLoCo by Adnan (github.com/Adnan082/diloco-measured): 4 ranks, 30.8
million parameters, 30 ms of computation a step, 50 to 5000 Mb/s. The part is the time of a step without exchange
over that with it. Steps are those of the benchmark slow-network. What has been measured is kept in the file of
--json, so that an interrupted run continues where it stopped.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import netlab
from command_line import count, list_of, rates
from record_file import RecordFile
from report import Report, arguments
from slow_network_columns import COLUMNS

RANKS = pathlib.Path(__file__).with_name("slow_network_ranks.py")
ALONE = "alone"
COMPUTATION = 0.03
# Published there, by Mb/s: DDP, and DiLoCo with 128 local steps.
PUBLISHED = {"50mbit": (0.0004, 0.116), "200mbit": (None, 0.36), "1gbit": (None, 0.72), "5gbit": (None, 0.87)}
TARGETS = {"50mbit": 0.5, "200mbit": 0.9, "1gbit": 0.9, "5gbit": 0.9}


def parsed():
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rates", type=rates, default=",".join(TARGETS), metavar="LIST",
                        help="as tc writes them (%(default)s)")
    parser.add_argument("--columns", type=list_of(COLUMNS), metavar="LIST",
                        default="ddp,weir-dense,weir-dgc,weir-dgc-split,weir-auto",
                        help="what is compared (%(default)s)")
    parser.add_argument("--rounds", type=count, default=3, help="visits of each column (%(default)s)")
    parser.add_argument("--steps", type=count, default=8, help="of a visit (%(default)s)")
    return parser.parse_args()


def measure(options, rate):
    """Returns {column: seconds of a step}."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps(
            {"shape": "small-gpt", "columns": [ALONE, *options.columns], "backprop": [COMPUTATION],
             "rounds": options.rounds, "steps": options.steps, "seconds": 60}))
        netlab.run("utilisation", 4, rate, "--", "--no-summary", sys.executable, RANKS, folder)
        return {row["column"]: row["seconds"] for row in json.loads((folder / "rows.json").read_text())}


def main():
    options = parsed()
    file, report = RecordFile("utilisation", options.json), Report("utilisation")
    known = {row["rate"]: row["seconds"] for row in file.whole["rows"]}
    for rate in options.rates:
        if not {ALONE, *options.columns} <= known.get(rate, {}).keys():
            known[rate] = measure(options, rate)
            file.whole["rows"] = [row for row in file.whole["rows"] if row["rate"] != rate]
            file.whole["rows"].append({"rate": rate, "seconds": known[rate]})
            file.write()
        seconds = known[rate]
        parts = {column: seconds[ALONE] / seconds[column] for column in options.columns}
        ddp, diloco = PUBLISHED.get(rate, (None, None))
        report.rows.append({"rate": rate, "alone s": seconds[ALONE], **parts,
                            "published: DDP": ddp or "", "DiLoCo, H = 128": diloco or ""})
        best = max(part for column, part in parts.items() if column != "ddp")
        report.add_target(f"{rate}: part that computes, the best of Weir's", best, ">=", TARGETS.get(rate, 0.9))
    file.whole["targets"] = report.targets
    file.write()
    report.print()


if __name__ == "__main__":
    main()
