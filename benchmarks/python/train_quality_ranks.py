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
    config = CONFIGS[run.config]
    optimizer = (torch.optim.AdamW(model.parameters(), lr=rate_of(run)) if config.adam
                 else torch.optim.SGD(model.parameters(), lr=rate_of(run), momentum=MOMENTUM))
    if config.outer is not None:
        return hvd.Outer(optimizer, model.named_parameters(), compression=options_of(run), **config.outer)
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
        self._clip = clip if CONFIGS[run.config].clips_outside else None
        self._outer = CONFIGS[run.config].outer
        self._rounds = []  # Reports of rounds.
        self.sent = self.dense = 0

    def step(self):
        """Returns this rank's loss."""
        inputs, targets = self._task.batch(self._generator)
        self._optimizer.zero_grad()
        if self._outer is not None:
            loss = self._gradients(inputs, targets)
            self._take_local_step()
        else:
            with self._optimizer.looking_ahead():  # Has an effect if the configuration looks ahead.
                loss = self._gradients(inputs, targets)
            self._take_step()
        self._schedule.step()
        return loss.detach()

    def _gradients(self, inputs, targets):
        loss = F.cross_entropy(self.model(inputs), targets)
        loss.backward()
        return loss

    def _take_step(self):
        if self._clip is None:
            self._optimizer.step()
        else:
            self._optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._clip)
            with self._optimizer.skip_synchronize():
                self._optimizer.step()
        report = self._optimizer.step_report
        self.sent += report.wire_bytes
        self.dense += report.dense_bytes

    def _take_local_step(self):
        if self._clip is not None:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._clip)
        self._optimizer.step()
        self._rounds += self._optimizer.round_reports

    def end(self):
        """Called after the last step: all ranks have the same model then. Collective."""
        if self._outer is None:
            return
        self._optimizer.synchronize()
        self._rounds += self._optimizer.round_reports
        self.sent = sum(report.wire_bytes for report in self._rounds)
        # What dense training sends in each step, and here each fragment's first round counts.
        first = self._rounds[:self._outer.get("fragments", 1)]
        self.dense = self._run.steps * sum(report.dense_bytes for report in first)

    def has_diverged(self):
        """True on all ranks, if on any."""
        finite = all(bool(parameter.isfinite().all()) for parameter in self.model.parameters())
        if self._outer is not None:  # Between rounds each has its own parameters.
            finite = not hvd.allreduce(torch.tensor([not finite], dtype=torch.int32), op=hvd.Sum, name="diverged").item()
        return not finite


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
    training.end()
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
