"""Training with local steps beside an exchange in every step, on networks of several speeds.

The model `demo` of train-quality learns with AdamW on two hosts, in every column for the same time. Rows have
the part of a step that computes (the time of a step of the column `alone`, without any exchange, over that of
the column's), the bytes that a rank sends in a step, and the training loss as it falls over time and bytes. What
has been measured is kept in the file of --json, so that an interrupted run continues where it stopped.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import netlab
from command_line import count, list_of, plot_file, rates
from local_steps_columns import ALONE, COLUMNS, LOCAL
from record_file import RecordFile
from report import Report, arguments

RANKS = pathlib.Path(__file__).with_name("local_steps_ranks.py")


def parsed():
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rates", type=rates, default="10mbit,100mbit,1gbit", metavar="LIST",
                        help="as tc writes them (%(default)s)")
    parser.add_argument("--columns", type=list_of(COLUMNS), metavar="LIST", default=",".join(COLUMNS),
                        help="what is compared (%(default)s)")
    parser.add_argument("--seconds", type=count, default=60, help="of training, each (%(default)s)")
    parser.add_argument("--plot", type=plot_file, metavar="FILE",
                        help="also draw the loss over time and over bytes, as .svg or .png")
    return parser.parse_args()


def measure(column, rate, seconds):
    """Returns the row of one training."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "order.json").write_text(json.dumps({"column": column, "seconds": seconds}))
        netlab.run("local-steps", 2, rate, "--", "--no-summary", sys.executable, RANKS, folder)
        return {"rate": rate, "column": column, **json.loads((folder / "row.json").read_text())}


def main():
    options = parsed()
    file = RecordFile("local-steps", options.json)
    known = {(row["rate"], row["column"]): row for row in file.whole["rows"]}
    for rate in options.rates:
        for column in options.columns:
            if (rate, column) not in known:
                known[rate, column] = measure(column, rate, options.seconds)
                file.whole["rows"] = list(known.values())
                file.write()
    report = Report("local-steps")
    for rate in options.rates:
        alone = known.get((rate, ALONE))
        for column in options.columns:
            row = known[rate, column]
            part = alone and alone["seconds"] / row["seconds"]
            report.rows.append({"rate": rate, "column": column, "steps": row["steps"], "s a step": row["seconds"],
                                "computes": part or "", "bytes a step": row["bytes"],
                                "loss": row["curve"][-1][2]})
            if rate == "10mbit" and column in LOCAL and alone:
                report.add_target(f"{rate}: part of {column} that computes", part, ">=", 0.9)
    file.whole["targets"] = report.targets
    file.write()
    report.print()
    if options.plot:
        import local_steps_plot

        local_steps_plot.save(list(known.values()), options.plot)


if __name__ == "__main__":
    main()
