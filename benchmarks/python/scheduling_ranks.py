"""A rank of the benchmark scheduling: every column on one gradient set and network."""

import argparse
import gc
import json
import pathlib
import random
import statistics
import sys
import time
import warnings

import torch

import torch_job
import weir.torch as hvd
from gradient_sets import SETS
from replay import Gradients, Replay
from slow_network_columns import COLUMNS
from slow_network_ranks import WARMUP_STEPS


class Visit:
    """One column at work. Its resources are released with it."""

    def __init__(self, column, options, store):
        self._model = Replay(store)
        self._forward, self._optimizer = column.join(self._model)
        self._model.forwards, self._model.backprop = options.forward, options.backprop
        self._options = options

    def take(self, steps):
        """Returns the slowest rank's seconds of a step, of so many in a row."""
        hvd.barrier()
        begin = time.perf_counter()
        for _ in range(steps):
            self._optimizer.zero_grad()
            loss = self._forward(torch.zeros((), requires_grad=True))
            self._model.start_backprop()
            loss.backward()
            self._optimizer.step()
        self._model.state_dict()  # When this has returned, all updates are applied.
        taken = torch.tensor((time.perf_counter() - begin) / steps, dtype=torch.float64)
        return hvd.allreduce(taken, op=hvd.Max, name="seconds").item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path,
                        help="has options.json, scheduling.py's options and the shape; rank 0 writes seconds.json there")
    folder = parser.parse_args().folder
    options = argparse.Namespace(**json.loads((folder / "options.json").read_text()))
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="Weir takes over")
    torch_job.join("gloo")
    store = Gradients(SETS[options.shape](), hvd.rank())
    store.refresh()
    found = {column: [] for column in options.columns}
    order, shuffle = list(options.columns), random.Random(1)
    for number in range(options.rounds):
        shuffle.shuffle(order)
        for column in order:
            visit = Visit(COLUMNS[column], options, store)
            visit.take(max(COLUMNS[column].warmup, WARMUP_STEPS))
            found[column].append(visit.take(options.steps))
            del visit
            gc.collect()  # Before the next one needs the memory.
            if hvd.rank() == 0:
                print(f"{options.shape}, round {number + 1}, {column}: {found[column][-1]:.3f} s", file=sys.stderr,
                      flush=True)
    if hvd.rank() == 0:
        (folder / "seconds.json").write_text(
            json.dumps({column: statistics.median(times) for column, times in found.items()}))
    torch_job.leave()


if __name__ == "__main__":
    main()
