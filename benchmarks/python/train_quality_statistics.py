"""Statistics of train-quality's runs: a configuration's difference to dense training, paired by seed."""

import math
import statistics
from typing import NamedTuple, Optional

import scipy.special

from train_quality_grid import CONFIGS, MODELS, RATES, STUDIES, Run, base_of

# The order in which the training loss falls at the high rate.
ABLATION_ORDER = ("no-residual", "no-correction", "no-masking", "dgc", "dense")


class Interval(NamedTuple):
    """A mean and half the width of its 95 % interval by Student's t distribution; without bound where
    there is a single value."""

    mean: float
    half: float
    count: int

    @staticmethod
    def of(values):
        if len(values) < 2:
            return Interval(values[0], math.inf, 1)
        quantile = scipy.special.stdtrit(len(values) - 1, 0.975)
        error = statistics.stdev(values) / math.sqrt(len(values))
        return Interval(statistics.fmean(values), float(quantile * error), len(values))

    @property
    def ends(self):
        return self.mean - self.half, self.mean + self.half

    @property
    def farthest(self):
        """Farthest distance from 0."""
        return max(map(abs, self.ends))

    def verdict(self, target):
        """Judges a difference that should lie within -target to +target."""
        low, high = self.ends
        if -target <= low and high <= target:
            return "within"
        if low > target:
            return "worse"
        return "better" if high < -target else "open"

    def text(self, digits=2):
        half = f" ± {self.half:.{digits}f}" if self.count > 1 else ""
        return f"{self.mean:+.{digits}f}{half}"


class Line(NamedTuple):
    """A configuration in its group. `worse`: than dense, in the unit of the model's target, and
    `than_dgc` than dgc; None if no seed is paired. `loss`: of training, mean over seeds. `times`:
    factor by which less is sent than dense."""

    config: str
    seeds: int
    diverged: int
    score: Optional[float]
    worse: Optional[Interval]
    than_dgc: Optional[Interval]
    loss: Optional[float]
    times: float


class Group:
    """All configurations that were trained alike: same model, steps, learning rate, and density if they
    have one."""

    def __init__(self, model, density, steps, rate, rows):
        """`rows`: all groups', by run."""
        self.model, self.density, self.steps, self.rate = model, density, steps, rate
        self._rows = {}
        for config in configs_of(density):
            of_config = density if CONFIGS[config].sparse else 1.0
            found = {run.seed: row for run, row in rows.items()
                     if run == Run(model, config, of_config, rate, steps, run.seed)}
            if found:
                self._rows[config] = found
        self.lines = [self._line(config) for config in self._rows]

    def line(self, config):
        """Returns None if it was not measured."""
        return next((line for line in self.lines if line.config == config), None)

    @property
    def unit(self):
        return "points" if MODELS[self.model].is_accuracy else "%"

    def _finite(self, config, key):
        """Returns {seed: value} of runs that did not diverge."""
        return {seed: row[key] for seed, row in self._rows.get(config, {}).items()
                if row[key] is not None}

    def differences(self, key, config, base):
        """Returns {seed: config - base} of a key's values, if both have one."""
        ours, theirs = self._finite(config, key), self._finite(base, key)
        return {seed: ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())}

    @property
    def base(self):
        return base_of(self.rate)

    def worse(self, config, base):
        """Returns how much worse it is than another one, or None if no seed is paired."""
        found = self.differences("score", config, base)
        if not found:
            return None
        base_mean = statistics.fmean(self._finite(base, "score")[seed] for seed in found)
        scale = -1.0 if MODELS[self.model].is_accuracy else 100.0 / base_mean
        return Interval.of([scale * difference for difference in found.values()])

    def _line(self, config):
        rows = self._rows[config]
        scores = self._finite(config, "score").values()
        losses = self._finite(config, "train_loss").values()
        return Line(config, len(rows), len(rows) - len(scores),
                    statistics.fmean(scores) if scores else None,
                    None if config == self.base else self.worse(config, self.base),
                    None if config in (self.base, "dgc") else self.worse(config, "dgc"),
                    statistics.fmean(losses) if losses else None,
                    statistics.fmean(row["dense"] / row["sent"] for row in rows.values()))

    def order(self):
        """Returns [(config, next one, Interval of how much higher its training loss is)] for the steps
        of the ablation's order with both sides measured; None for an interval if one of them diverged
        with every seed."""
        found = []
        for above, below in zip(ABLATION_ORDER, ABLATION_ORDER[1:]):
            if above in self._rows and below in self._rows:
                steps = list(self.differences("train_loss", above, below).values())
                found.append((above, below, Interval.of(steps) if steps else None))
        return found


def configs_of(density):
    """Returns the configurations of all studies with that density, in their listed order."""
    names = {name for study in STUDIES.values() if study.density == density
             for name in study.configs}
    return [name for name in CONFIGS if name in names]


def groups_of(rows):
    """Returns groups with rows; the paper's density last, and in it long runs last."""
    places = dict.fromkeys((study.density, steps) for study in STUDIES.values()
                           for steps in study.lengths)
    found = [Group(model, density, steps, rate, rows)
             for density, steps in sorted(places, key=lambda place: (-place[0], place[1]))
             for model in MODELS for rate in reversed(RATES)]
    # Dense runs of 1,000 steps belong to two groups, and make none by themselves.
    return [group for group in found if any(line.config != group.base for line in group.lines)]
