"""weir-simulate: predicts a training's step on other networks, from a log of its run.

    weirrun -np 2 --record run.weirlog python train.py
    weir-simulate run.weirlog --hosts 2,4,8 --rates 100mbit,1gbit --compression dgc,density=0.001

The log says when each bucket's gradients were ready, and what encoding and decoding them took. A network
of the given rate takes the place of the recorded one; compressors that the run did not have are measured
on this machine, on noise of the gradients' shapes.
"""

import argparse
import csv
import math
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from weir._simulation.predictions import CostOf, Network, Prediction, check, measured, predict, recorded
from weir._simulation.recorded import Run, read
from weir.top import percent, seconds, size, table

RECORDED = "as recorded"


def rate_of(text: str) -> float:
    """Returns the bits per second of a rate as tc writes it. Raises argparse.ArgumentTypeError."""
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3)):
        if text.endswith(unit):
            try:
                rate = float(text[:-len(unit)]) * factor
            except ValueError:
                break
            if 0 < rate < math.inf:
                return rate
    raise argparse.ArgumentTypeError(f"{text!r}: give a rate such as 100mbit or 2.5gbit")


def latency_of(text: str) -> float:
    """Returns the seconds of a time such as 0.1ms. Raises argparse.ArgumentTypeError."""
    for unit, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        if text.endswith(unit):
            try:
                value = float(text[:-len(unit)]) * factor
            except ValueError:
                break
            if 0 <= value < math.inf:
                return value
    raise argparse.ArgumentTypeError(f"{text!r}: give a time such as 0.1ms")


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number above 0")
    return factor


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number from 1")
    return int(text)


def _list(kind: Callable[[str], Any]) -> Callable[[str], List[Any]]:
    return lambda text: [kind(part) for part in text.split(",")]


def _parsed(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weir-simulate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", help="run.weirlog of weirrun --record; other ranks' files are read beside it")
    parser.add_argument("--hosts", type=_list(_count), default=[2, 4, 8], metavar="LIST",
                        help="numbers of hosts (2,4,8)")
    parser.add_argument("--slots", type=_count, default=1, metavar="N", help="ranks on each host (%(default)s)")
    parser.add_argument("--rates", type=_list(rate_of), default=[1e8, 1e9, 1e10], metavar="LIST",
                        help="of each host's link (100mbit,1gbit,10gbit)")
    parser.add_argument("--latency", type=latency_of, default=1e-4, metavar="TIME",
                        help="of a message (0.1ms)")
    parser.add_argument("--compression", action="append", default=[], metavar="TEXT",
                        help="a compressor and its options, as in dgc,density=0.001; again for a further one. "
                             "What the run had, and dense, are always there")
    parser.add_argument("--cpu-factor", type=_factor, default=1.0, metavar="F",
                        help="encoding and decoding take so many times as long there (%(default)s)")
    parser.add_argument("--csv", metavar="FILE", help="also write the table there")
    parser.add_argument("--svg", metavar="FILE", help="also draw the steps over the rate; needs matplotlib")
    return parser.parse_args(arguments)


def predictions(run: Run, options: argparse.Namespace) -> Iterator[Prediction]:
    """Yields one for each compression, number of hosts and rate."""
    ways: Dict[str, CostOf] = {RECORDED: recorded(run)}
    ways.update((text, measured(text)) for text in ["dense", *options.compression])
    for text, cost_of in ways.items():
        for hosts in options.hosts:
            for rate in options.rates:
                yield predict(run, text, cost_of, Network(hosts, options.slots, rate, options.latency),
                              options.cpu_factor)


def shown_rate(rate: float) -> str:
    return f"{rate / 1e9:.4g} Gb/s" if rate >= 1e9 else f"{rate / 1e6:.4g} Mb/s"


HEAD = ("compression", "hosts", "rate", "step", "exposed", "sent by a host", "dense / this")


def _rows(found: List[Prediction]) -> List[Tuple[str, ...]]:
    dense = {one.network: one.step for one in found if one.compression == "dense"}
    return [(one.compression, str(one.network.hosts), shown_rate(one.network.rate), seconds(one.step),
             seconds(one.exposed), size(one.sent), f"{dense[one.network] / one.step:.3g}") for one in found]


def _draw(found: List[Prediction], path: str) -> None:
    try:
        import matplotlib  # type: ignore[import-not-found]
    except ImportError as error:
        raise ValueError("--svg needs matplotlib: pip install matplotlib") from error
    matplotlib.use("svg")
    from matplotlib import pyplot  # type: ignore[import-not-found]

    hosts = sorted({one.network.hosts for one in found})
    figure, axes = pyplot.subplots(1, len(hosts), figsize=(4.2 * len(hosts), 3.6), sharey=True, squeeze=False)
    for axis, count in zip(axes[0], hosts):
        for way in dict.fromkeys(one.compression for one in found):
            line = [(one.network.rate / 1e6, one.step) for one in found
                    if one.compression == way and one.network.hosts == count]
            axis.loglog(*zip(*sorted(line)), marker="o", label=way)
        axis.set_title(f"{count} hosts")
        axis.set_xlabel("rate, Mb/s")
        axis.grid(True, alpha=0.3)
    axes[0][0].set_ylabel("step, s")
    axes[0][-1].legend()
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = _parsed(arguments)
    try:
        run = read(options.log)
        found = list(predictions(run, options))
        model = check(run)
        print(f"recorded: {run.ranks} ranks on {run.hosts} host{'s' * (run.hosts > 1)}, {run.steps} steps of {seconds(run.step)} "
              f"(median); the model makes {seconds(model)} of their parts "
              f"({'+' if model >= run.step else '-'}{percent(abs(model / run.step - 1))})")
        if run.link is not None:
            print(f"its network: {shown_rate(8 * run.link.bytes_per_second)} and {seconds(run.link.latency)} a "
                  f"message, fitted to {run.link.exchanges} exchanges")
        print()
        print("\n".join(table(HEAD, _rows(found))))
        if options.csv:
            with open(options.csv, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(("compression", "hosts", "slots", "bits_per_second", "latency_seconds",
                                 "step_seconds", "exposed_seconds", "sent_bytes"))
                writer.writerows((one.compression, *one.network, one.step, one.exposed, one.sent)
                                 for one in found)
        if options.svg:
            _draw(found, options.svg)
    except (OSError, ValueError) as error:
        print(f"weir-simulate: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
