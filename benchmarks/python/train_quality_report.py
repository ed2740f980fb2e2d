"""The report of train-quality: its tables, and DGC's targets."""

import math

from report import Report
from train_quality_grid import MODELS
from train_quality_statistics import groups_of
from train_quality_tables import details, summary

HELD = ("dgc", "dgc-unmasked", "dgc-masking-auto")  # Configurations that must train as well as dense.


class TrainQualityReport(Report):
    """`rows`: by run."""

    def __init__(self, rows):
        super().__init__("train-quality")
        self.rows = list(rows.values())
        self.groups = groups_of(rows)
        for group in self.groups:
            self._hold_to_targets(group)

    def _hold_to_targets(self, group):
        where = f"{group.model}, {group.rate} rate, {group.steps} steps"
        for name in HELD:
            line = group.line(name)
            if group.density == 0.001 and group.steps == 10000 and line:
                value = math.inf if line.worse is None or line.diverged else line.worse.farthest
                self.add_target(f"{where}: {name} at 0.1 % to dense, the interval's farther end, "
                                f"{group.unit}", value, "<=", MODELS[group.model].target)
        if group.density == 0.01 and group.rate == "high":
            for above, below, higher in group.order():
                if higher:
                    self.add_target(f"{where}: training loss of {above} - of {below}", higher.mean,
                                    ">=", 0.0)

    def print_tables(self):
        print(details(self.groups))

    def markdown(self):
        """Returns the same in few tables, all models side by side."""
        return summary(self.groups)
