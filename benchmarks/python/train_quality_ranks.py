"""A rank of the benchmark train-quality: trains one run after the other."""

import argparse
import json
import math
import pathlib
import sys
import time
import warnings

import torch
import torch.nn.functional as F

import weir.torch as hvd
from train_quality_grid import CONFIGS, MODELS, Run, options_of, rate_of
from train_quality_models import TASKS, generator_of
from train_quality_store import Store

MOMENTUM = 0.9


def make_optimizer(model, run):
    optimizer = (torch.optim.AdamW(model.parameters(), lr=rate_of(run)) if CONFIGS[run.config].adam
                 else torch.optim.SGD(model.parameters(), lr=rate_of(run), momentum=MOMENTUM))
    return hvd.DistributedOptimizer(optimizer, model.named_parameters(), options_of(run))


class Training:
    """One run. All ranks make the same one."""

    def __init__(self, run, task):
        torch.manual_seed(run.seed)
        self._run, self._task = run, task
        self.model = task.model()
        self._optimizer = make_optimizer(self.model, run)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: 0.5 * (1 + math.cos(math.pi * step / run.steps)))
        self._generator = generator_of(run.seed, hvd.rank())
        clip = MODELS[run.model].clip
        self._clip = clip if CONFIGS[run.config].is_uncompressed else None
        self.sent = self.dense = 0

    def step(self):
        """Returns this rank's loss."""
        inputs, targets = self._task.batch(self._generator)
        self._optimizer.zero_grad()
        with self._optimizer.looking_ahead():  # Has an effect if the configuration looks ahead.
            loss = F.cross_entropy(self.model(inputs), targets)
            loss.backward()
        if self._clip is None:
            self._optimizer.step()
        else:
            self._optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._clip)
            with self._optimizer.skip_synchronize():
                self._optimizer.step()
        self._schedule.step()
        report = self._optimizer.step_report
        self.sent += report.wire_bytes
        self.dense += report.dense_bytes
        return loss.detach()

    def has_diverged(self):
        """The same on all ranks, because the parameters are."""
        return not all(parameter.isfinite().all() for parameter in self.model.parameters())


def train(run, task):
    """Returns the measurements of a run; score and loss are None if it diverged. Collective."""
    begin = time.perf_counter()
    training = Training(run, task)
    last = torch.zeros(())  # Loss of the last tenth of the steps.
    counted = max(1, run.steps // 10)
    for step in range(run.steps):
        loss = training.step()
        if step >= run.steps - counted:
            last += loss / counted
        if step % 100 == 99 and training.has_diverged():
            break
    found = {"score": None, "train_loss": None}
    if not training.has_diverged():
        total, count = task.score(training.model, hvd.rank(), hvd.size())
        sums = hvd.allreduce(torch.tensor([total, count, last.item()], dtype=torch.float64),
                             op=hvd.Sum, name="score").tolist()
        if all(map(math.isfinite, sums)):
            found.update(score=sums[0] / sums[1], train_loss=sums[2] / hvd.size())
    return {**found, "sent": training.sent, "dense": training.dense,
            "seconds": round(time.perf_counter() - begin, 2)}


class Order:
    """Rank 0's decisions for all ranks: whether there is time for another run, and where it is stored."""

    def __init__(self, folder):
        order = json.loads((folder / "order.json").read_text())
        self.runs = [Run(*run) for run in order["runs"]]
        self._deadline = order["seconds"] and time.monotonic() + order["seconds"]
        self._store = Store(order["store"], hvd.size()) if hvd.rank() == 0 else None
        self._done = 0

    def has_time(self):
        late = self._deadline is not None and time.monotonic() > self._deadline
        return not hvd.broadcast_object(late, name="late")

    def keep(self, run, found):
        self._done += 1
        if self._store:
            self._store.add(run, found)
            score = "diverged" if found["score"] is None else f"{found['score']:.4f}"
            print(f"{self._done}/{len(self.runs)} {run.model}, {run.config} {run.density:g}, rate "
                  f"{rate_of(run):g}, {run.steps} steps, seed {run.seed}: {score} "
                  f"({found['seconds']:.1f} s)", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="has order.json, of train_quality.py")
    folder = parser.parse_args().folder
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="Weir takes over")
    warnings.filterwarnings("ignore", message=".*steps.*density.*")  # Short runs are meant.
    hvd.init()
    order, tasks = Order(folder), {}
    for run in order.runs:
        if not order.has_time():
            break
        if run.model not in tasks:
            tasks[run.model] = TASKS[run.model]()
        order.keep(run, train(run, tasks[run.model]))
    hvd.shutdown()


if __name__ == "__main__":
    main()
