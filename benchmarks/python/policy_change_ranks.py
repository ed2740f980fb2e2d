"""A rank of the benchmark policy-change: auto through all rates, and every fixed choice at each of them."""

import argparse
import gc
import json
import pathlib
import statistics
import sys
import warnings

import torch

import netlab
import torch_job
import weir.torch as hvd
from gradient_sets import SETS
from policy import AUTO
from replay import Gradients
from slow_network_columns import COLUMNS
from slow_network_ranks import Visit, warm_up

COUNTED = 20  # Steps before the next change.
FIXED_STEPS = 20
WINDOW, SETTLED = 5, 1.2


def change(rate):
    """Collective."""
    hvd.barrier()
    netlab.set_rate(rate)
    hvd.barrier()


def settled_after(times):
    """Returns the number of steps from which on they take, by medians of WINDOW, what the last ones do."""
    final = statistics.median(times[-COUNTED:])
    windows = [statistics.median(times[i:i + WINDOW]) for i in range(len(times) - WINDOW + 1)]
    return max((i + 1 for i, median in enumerate(windows) if median > SETTLED * final), default=0)


class Phase:
    """What auto does at a rate."""

    def __init__(self):
        self.seconds, self.settled_after = [], []

    def take(self, visit, steps, backprop):
        times = [visit.step(backprop)[0] for _ in range(steps)]
        self.seconds += times[-COUNTED:]
        self.settled_after.append(settled_after(times))
        return times


def explained():
    """Returns the plan in use, on rank 0."""
    lines = hvd.explain().splitlines()
    return lines[0] if lines else ""


def take_auto(options, store, phases):
    """One run through all rates."""
    visit = Visit(COLUMNS[AUTO], store)
    plans = []
    for rate, phase in zip(options.rates, phases):
        change(rate)
        times = phase.take(visit, options.steps, options.backprop)
        plans.append(explained())
        if hvd.rank() == 0:
            print(f"auto at {rate}: {statistics.median(times[-COUNTED:]):.3f} s, settled after "
                  f"{phase.settled_after[-1]} steps; {plans[-1]}", file=sys.stderr, flush=True)
    return plans


def take_fixed(options, store, found):
    """A visit of each fixed choice at each rate."""
    for rate, each in found.items():
        change(rate)
        for column, seconds in each.items():
            visit = Visit(COLUMNS[column], store)
            warm_up(visit, COLUMNS[column].warmup, options.backprop)
            seconds += [visit.step(options.backprop)[0] for _ in range(FIXED_STEPS)]
            del visit
            gc.collect()  # Before the next one needs the memory.
            if hvd.rank() == 0:
                print(f"{column} at {rate}: {statistics.median(seconds):.3f} s", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="has options.json; rank 0 writes rows.json there")
    folder = parser.parse_args().folder
    options = argparse.Namespace(**json.loads((folder / "options.json").read_text()))
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="Weir takes over")
    torch_job.join("gloo")
    store = Gradients(SETS[options.shape](), hvd.rank())
    phases = [Phase() for _ in options.rates]
    found = {rate: {column: [] for column in columns} for rate, columns in options.fixed.items()}
    for _ in range(options.rounds):
        take_fixed(options, store, found)
        plans = take_auto(options, store, phases)
        gc.collect()
    if hvd.rank() == 0:
        rows = [{"rate": rate, "auto": statistics.median(phase.seconds), "plan": plan,
                 "settled_after": max(phase.settled_after),
                 "fixed": {column: statistics.median(seconds) for column, seconds in found[rate].items()}}
                for rate, phase, plan in zip(options.rates, phases, plans)]
        (folder / "rows.json").write_text(json.dumps(rows))
    torch_job.leave()


if __name__ == "__main__":
    main()
