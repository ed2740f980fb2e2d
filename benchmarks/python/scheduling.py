"""Steps in a row whose forward pass waits layer by layer (cross_barrier), beside steps that wait whole.

Each network is made by scripts/netlab, one rank on each host. A step is a forward and a backward pass, which
sleep, hand out gradients of a well-known model's shapes, and the optimizer's step. Without cross_barrier
buckets are exchanged in the order in which they become ready.
"""

import json
import pathlib
import sys
import tempfile

import netlab
from command_line import count, list_of, rates
from gradient_sets import SETS
from report import Report, arguments
from slow_network_columns import COLUMNS

RANKS = pathlib.Path(__file__).with_name("scheduling_ranks.py")
PAIRS = {"weir-dense-cross": "weir-dense", "weir-dgc-cross": "weir-dgc"}  # With what each is compared.


def parsed():
    parser = arguments(__doc__)
    parser.add_argument("--hosts", type=count, default=4, help="one rank on each (%(default)s)")
    parser.add_argument("--rates", type=rates, default="1gbit,10gbit", metavar="LIST",
                        help="as tc writes them; none: as fast as it goes (%(default)s)")
    parser.add_argument("--shapes", type=list_of(SETS), default="vgg16,resnet50,lstm", metavar="LIST",
                        help="sets of gradients (%(default)s)")
    parser.add_argument("--columns", type=list_of(COLUMNS),
                        default=",".join(["ddp", *PAIRS.values(), *PAIRS]), metavar="LIST",
                        help="what is compared (%(default)s)")
    parser.add_argument("--forward", type=float, default=0.125, help="seconds of a forward pass (%(default)s)")
    parser.add_argument("--backprop", type=float, default=0.25, help="seconds of a backward pass (%(default)s)")
    parser.add_argument("--rounds", type=count, default=3, help="visits of each column (%(default)s)")
    parser.add_argument("--steps", type=count, default=8, help="of a visit, in a row (%(default)s)")
    return parser.parse_args()


def measure(options, rate, shape):
    """Returns {column: seconds of a step}."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "options.json").write_text(json.dumps({**vars(options), "shape": shape}))
        netlab.run("scheduling", options.hosts, rate, "--", "--no-summary", sys.executable, RANKS, folder)
        return json.loads((folder / "seconds.json").read_text())


def main():
    options, report = parsed(), Report("scheduling")
    worst = []
    for rate in options.rates:
        for shape in options.shapes:
            found = measure(options, rate, shape)
            ratios = {f"{crossed} / {whole}": found[crossed] / found[whole] for crossed, whole in PAIRS.items()
                      if crossed in found and whole in found}
            report.rows.append({"rate": rate, "shapes": shape, **{f"{name} s": found[name] for name in found},
                                **ratios})
            worst += ratios.values()
    if worst:
        report.add_target("most of cross_barrier / without", max(worst), "<=", 1.0)
    report.end(options)


if __name__ == "__main__":
    main()
