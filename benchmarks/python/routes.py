"""Bytes and seconds of each route for compressed gradients, on 2 to 8 ranks of a slow network.

Each job is made by scripts/netlab. In each step all routes take their turn on the same gradients. The
bytes that the engine hands to the transport are checked against an exact count, and the counters of the
hosts' interfaces against that. The formulas are shown beside them, and the crossings of routes.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

import netlab
from command_line import count, list_of, plot_file, rate
from report import arguments
from routes_report import RoutesReport
from routes_table import ROUTES


def jobs(text):
    """Type of --jobs: [(hosts, ranks on each)]."""
    found = [re.fullmatch(r"(\d+)(?:x(\d+))?", word) for word in text.split(",")]
    if not all(match and int(match[1]) >= 2 and match[2] != "0" for match in found):
        raise argparse.ArgumentTypeError(f"{text}: give a number of hosts from 2, or 4x2 for 2 ranks "
                                         "on each of 4 hosts, say")
    return [(int(match[1]), int(match[2] or 1)) for match in found]


def densities(text):
    """Type of --densities."""
    found = sorted(float(word) for word in text.split(","))
    if not all(0 < density <= 1 for density in found):
        raise argparse.ArgumentTypeError(f"{text}: give numbers above 0 and up to 1")
    return found


def parsed():
    parser = arguments(__doc__)
    parser.add_argument("--jobs", type=jobs, default="2,3,4,5,6,7,8,2x2,3x2,4x2", metavar="LIST",
                        help="hosts, and with x ranks on each (%(default)s)")
    parser.add_argument("--rate", type=rate, default="100mbit",
                        help="of each host, as tc writes it; none: as fast as it goes (%(default)s)")
    parser.add_argument("--densities", type=densities, metavar="LIST",
                        default="0.001,0.01,0.0625,0.125,0.25,0.5,1",
                        help="fractions of the entries that are sent (%(default)s)")
    parser.add_argument("--routes", type=list_of(ROUTES), default=",".join(ROUTES), metavar="LIST",
                        help="what is compared (%(default)s)")
    parser.add_argument("--steps", type=count, default=4, metavar="N",
                        help="of each route that are measured (%(default)s)")
    parser.add_argument("--warmup", type=count, default=1, metavar="N",
                        help="steps before them (%(default)s)")
    parser.add_argument("--small", action="store_true",
                        help="a seventh of the elements, for tests of the benchmark itself")
    parser.add_argument("--plot", type=plot_file, metavar="FILE",
                        help="also draw bytes over ranks, as .svg or .png")
    return parser.parse_args()


def measure(options, hosts, slots):
    """Returns every rank's results."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(
            json.dumps({**vars(options), "hosts": hosts, "slots": slots}))
        print(f"{hosts} hosts, {slots} ranks on each", file=sys.stderr, flush=True)
        netlab.run("routes", hosts, options.rate, "--", sys.executable,
                   pathlib.Path(__file__).with_name("routes_ranks.py"), folder, slots=slots)
        return [json.loads((folder / f"rank{rank}.json").read_text())
                for rank in range(hosts * slots)]


def main():
    options = parsed()
    report = RoutesReport(options.rate)
    try:
        for hosts, slots in options.jobs:
            report.add(hosts, slots, measure(options, hosts, slots))
    finally:  # A failure of one job does not lose those before.
        if report.rows:
            report.add_crossings()
            report.add_targets()
            report.end(options)
    if options.plot:
        import routes_plot

        routes_plot.save(report.rows, options.plot)


if __name__ == "__main__":
    main()
