"""Predictions of weir-simulate beside measured steps, on the networks of scripts/netlab.

One short run on two hosts without a limit is recorded. From its log, weir-simulate predicts the steps of
every number of hosts, rate and compressor, which are then measured.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import netlab
from command_line import count, list_of, rates
from report import Report, arguments
from simulate_ranks import COMPRESSIONS

RANKS = pathlib.Path(__file__).with_name("simulate_ranks.py")
QUIET = ("--no-summary", "--no-prefix")
WITHIN = 0.10


def parsed():
    parser = arguments(__doc__)
    parser.add_argument("--hosts", type=lambda text: [count(part) for part in text.split(",")], default="2,4,8",
                        metavar="LIST", help="one rank on each (%(default)s)")
    parser.add_argument("--rates", type=rates, default="10mbit,100mbit,1gbit", metavar="LIST",
                        help="as tc writes them (%(default)s)")
    parser.add_argument("--compressions", type=list_of(COMPRESSIONS), default=",".join(COMPRESSIONS),
                        metavar="LIST", help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a cell's steps (%(default)s)")
    return parser.parse_args()


def predicted(log, options):
    """Returns the seconds a step, by compression, number of hosts and bits per second."""
    from weir import simulate

    run = simulate.read(log)
    costs = {name: simulate.measured(",".join(f"{key}={value}" for key, value in COMPRESSIONS[name].items()))
             for name in options.compressions}
    return {(name, hosts, rate): simulate.predict(
        run, name, cost, simulate.Network(hosts, 1, simulate.rate_of(rate), 1e-4),
        # All hosts of a netlab share this machine's cores.
        cpu_factor=max(1.0, hosts / os.cpu_count())).step
        for name, cost in costs.items() for hosts in options.hosts for rate in options.rates}


def measured(name, hosts, rate, budget):
    out = netlab.run("simulate", hosts, rate, "--", *QUIET, sys.executable, RANKS, name, budget,
                     stdout=subprocess.PIPE)
    return statistics.median(json.loads(out.splitlines()[-1]))


def main():
    options = parsed()
    report = Report("simulate")
    with tempfile.TemporaryDirectory() as folder:
        log = str(pathlib.Path(folder) / "run.weirlog")
        netlab.run("simulate", 2, "none", "--", *QUIET, "--record", log, sys.executable, RANKS,
                   "dgc", 3, stdout=subprocess.DEVNULL)
        expected = predicted(log, options)
    close = []
    for (name, hosts, rate), seconds in expected.items():
        found = measured(name, hosts, rate, options.seconds)
        close.append(abs(seconds / found - 1) <= WITHIN)
        report.rows.append({"compression": name, "hosts": hosts, "rate": rate, "predicted s": seconds,
                            "measured s": found, "predicted / measured": seconds / found})
        print(report.rows[-1], file=sys.stderr)
    report.add_target(f"part of the cells within {100 * WITHIN:.0f} %", sum(close) / len(close), ">=", 0.9)
    report.end(options)


if __name__ == "__main__":
    main()
