"""A rank of the benchmark local-steps: trains one column for some time."""

import argparse
import json
import math
import pathlib
import time
import warnings

import torch
import torch.nn.functional as F

import netlab
import weir.torch as hvd
from local_steps_columns import COLUMNS
from train_quality_models import TASKS, generator_of

RATE = 0.004  # AdamW's, tuned for the model (train_quality_grid.MODELS).
WARM_UP = 30  # Steps that are not timed.
PATIENCE = 10  # Steps before rank 0 says for the first time how many there is time for.
SMOOTHED = 20  # Steps, of the loss.
POINTS = 60   # Of the curve.


class Training:
    def __init__(self, column):
        torch.manual_seed(1)
        self._task = TASKS["demo"]()
        self._model = self._task.model()
        optimizer = torch.optim.AdamW(self._model.parameters(), lr=RATE)
        self._optimizer = COLUMNS[column](hvd, optimizer, list(self._model.named_parameters()))
        self._generator = generator_of(1, hvd.rank())

    def step(self):
        """Returns this rank's loss."""
        inputs, targets = self._task.batch(self._generator)
        self._optimizer.zero_grad()
        loss = F.cross_entropy(self._model(inputs), targets)
        loss.backward()
        self._optimizer.step()
        return loss.item()


def smoothed(values, width):
    """Returns the mean of the last `width` values, at each of them."""
    found, total = [], 0.0
    for i, value in enumerate(values):
        total += value - (values[i - width] if i >= width else 0.0)
        found.append(total / min(i + 1, width))
    return found


def more_steps(done, elapsed, seconds):
    """Returns how many steps to take before ranks ask again, 0 for none: half of those that there seems to be
    time for, and not many more than were timed. What they ask waits in the network's queue behind the exchange,
    so they seldom do."""
    left = math.ceil((seconds - elapsed) * done / elapsed / 2)
    return hvd.broadcast_object(max(min(left, 3 * done), 0), name="time")


def train(column, seconds):
    """Returns the row of the report. Collective."""
    training = Training(column)
    training.step()  # Registers, and agrees.
    hvd.barrier()
    begin, before = time.perf_counter(), netlab.sent().bytes
    times, losses, sent = [], [], []
    steps = PATIENCE
    while steps > 0:
        for _ in range(steps):
            losses.append(training.step())
            times.append(time.perf_counter() - begin)
            sent.append(netlab.sent().bytes - before)
        steps = more_steps(len(times), times[-1], seconds)
    theirs = hvd.allgather_object(losses)
    loss = smoothed([sum(of_all) / len(of_all) for of_all in zip(*theirs)], SMOOTHED)
    first = min(WARM_UP, len(times) // 2)
    chosen = sorted({round(i * (len(times) - 1) / (POINTS - 1)) for i in range(POINTS)})
    return {"steps": len(times), "seconds": (times[-1] - times[first]) / (len(times) - 1 - first),
            "bytes": round((sent[-1] - sent[first]) / (len(times) - 1 - first)),
            # Seconds, bytes that the rank has sent, and loss in bits a byte.
            "curve": [(round(times[i], 3), sent[i], round(loss[i] / 0.6931471805599453, 4)) for i in chosen]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="has order.json, of local_steps.py")
    folder = parser.parse_args().folder
    order = json.loads((folder / "order.json").read_text())
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    hvd.init()
    row = train(order["column"], order["seconds"])
    if hvd.rank() == 0:
        (folder / "row.json").write_text(json.dumps(row))
    hvd.shutdown()


if __name__ == "__main__":
    main()
