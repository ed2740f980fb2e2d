"""A rank of the benchmark slow-network: every column on every gradient set, on one network."""

import argparse
import gc
import json
import os
import pathlib
import random
import statistics
import sys
import time
import warnings

import torch

import netlab
import torch_job
import weir.torch as hvd
from gradient_sets import SETS
from replay import Gradients, Replay
from slow_network_columns import COLUMNS

# Weir's optimizer copies gradients until eight steps had as many backward passes as the one before.
WARMUP_STEPS, WARMUP_SECONDS = 9, 70.0


class Engine:
    """Weir's engine, made anew whenever settings change. Collective."""

    def __init__(self):
        self._settings = {}

    def enter(self, settings):
        if settings == self._settings:
            return
        hvd.shutdown()
        for name in self._settings:
            del os.environ[name]
        os.environ.update(settings)
        self._settings = settings
        hvd.init()


class Visit:
    """One column at work on one gradient set. Its resources are released with it."""

    def __init__(self, column, store):
        self._store = store
        self._model = Replay(store)
        self._forward, self._optimizer = column.join(self._model)

    def step(self, backprop):
        """Returns (the slowest rank's seconds, bytes that this rank's host sent, processor time of this rank)."""
        self._optimizer.zero_grad()
        self._store.refresh()
        self._model.backprop = backprop
        chain = torch.zeros((), requires_grad=True)
        hvd.barrier()
        sent, begin, worked = _sent_bytes(), time.perf_counter(), time.process_time()
        loss = self._forward(chain)
        self._model.start_backprop()
        loss.backward()
        self._optimizer.step()
        seconds = torch.tensor(time.perf_counter() - begin, dtype=torch.float64)
        worked = time.process_time() - worked
        # Only when all ranks are done have all bytes of this one left its host.
        slowest = hvd.allreduce(seconds, op=hvd.Max, name="seconds").item()
        return slowest, _sent_bytes() - sent, worked


def _sent_bytes():
    return netlab.sent().bytes if netlab.on_host() else 0


class Series:
    """Measurements of one column, gradient set and backprop."""

    def __init__(self):
        self.times, self.bytes, self.work = [], [], []

    def row(self):
        """Collective."""
        sent = torch.tensor(statistics.mean(self.bytes), dtype=torch.float64)
        return {"seconds": statistics.median(self.times), "fastest": min(self.times),
                "slowest": max(self.times), "steps": len(self.times),
                "MB": hvd.allreduce(sent, op=hvd.Average, name="bytes").item() / 1e6,
                "processor seconds": statistics.median(self.work), "times": self.times}


def warm_up(visit, least, backprop):
    """Takes steps that are not counted: `least` of them if they are slow."""
    taken, spent = 0, 0.0
    while taken < least or (taken < WARMUP_STEPS and spent < WARMUP_SECONDS):
        spent += visit.step(backprop)[0]
        taken += 1


def measure(column, store, series, steps, seconds):
    """Adds up to `steps` steps to each one of {backprop: Series}, in turn; returns False if `seconds`
    of measuring were over before."""
    visit = Visit(column, store)
    warm_up(visit, column.warmup, min(series))
    spent = 0.0
    for _ in range(steps):
        if spent > seconds:
            return False
        for backprop, one in series.items():
            took, sent, worked = visit.step(backprop)
            one.times.append(took)
            one.bytes.append(sent)
            one.work.append(worked)
            spent += took
    return True


def measure_set(name, options, engine):
    """Measures rows of one gradient set. Columns are visited in rounds, each in another order, the same
    on all ranks and in every run; one whose time was over before its steps is not visited again."""
    store = Gradients(SETS[name](), hvd.rank())
    found = {column: {backprop: Series() for backprop in options.backprop}
             for column in options.columns}
    left, shuffle = list(options.columns), random.Random(1)
    for number in range(options.rounds):
        shuffle.shuffle(left)
        for column in list(left):
            engine.enter(COLUMNS[column].settings)
            if not measure(COLUMNS[column], store, found[column], options.steps, options.seconds):
                left.remove(column)
            gc.collect()  # Before the next one needs the memory.
            if hvd.rank() == 0:
                times = ", ".join(f"{statistics.median(one.times):.3f} s (backprop {backprop:g} s)"
                                  for backprop, one in found[column].items())
                print(f"{name}, round {number + 1}, {column}: {times}", file=sys.stderr, flush=True)
    return [{"shape": name, "backprop": backprop, "column": column, **one.row()}
            for column, each in found.items() for backprop, one in each.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="has options.json, slow_network.py's "
                        "options and the shape; rank 0 writes rows.json there")
    folder = parser.parse_args().folder
    options = argparse.Namespace(**json.loads((folder / "options.json").read_text()))
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="Weir takes over")
    torch_job.join("gloo")
    engine = Engine()
    rows = measure_set(options.shape, options, engine)
    engine.enter({})
    if hvd.rank() == 0:
        (folder / "rows.json").write_text(json.dumps(rows))
    torch_job.leave()


if __name__ == "__main__":
    main()
