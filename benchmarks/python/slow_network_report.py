"""The tables of slow-network and its targets."""

import os

from report import Report, print_table

# Columns whose steps have a lower bound here: what the network takes for their bytes, or the ranks' work on
# the cores that they share, whichever is longer.
BOUNDED = ("weir-dgc", "weir-dgc-split")
WITHIN = 1.3


class Network:
    """A requested rate, as `tc` writes it or "none", and the rate of a raw TCP transfer, in Mb/s."""

    UNITS = {"kbit": 1e-3, "mbit": 1.0, "gbit": 1e3}

    def __init__(self, rate, measured):
        self.rate, self.measured = rate, measured

    @property
    def reached(self):
        """TCP's and Ethernet's headers take 4 to 5 %."""
        return self.rate == "none" or self.measured >= 0.9 * self.asked()

    def asked(self):
        return float(self.rate[:-4]) * self.UNITS[self.rate[-4:]]

    def label(self):
        name = "unshaped" if self.rate == "none" else self.rate
        return name if self.reached else f"{name}*"


class SlowNetworkReport(Report):
    """Rows: one for each network, set of shapes, backprop and column."""

    def __init__(self, rows, work=()):
        """`work`: processor time of a rank's step, by shape and column."""
        super().__init__("slow-network")
        self.rows = rows
        self._work = {(row["shape"], row["column"]): row["processor seconds"] for row in work}
        # A rate whose sets were measured in several sittings has several transfers; one is shown.
        measured = {row["rate"]: row["TCP, Mb/s"] for row in rows}
        self.networks = [Network(*pair) for pair in measured.items()]

    def _find(self, rate, shape, backprop, column):
        """Returns the row, or None."""
        return next((row for row in self.rows
                     if (row["rate"], row["shape"], row["backprop"], row["column"])
                     == (rate, shape, backprop, column)), None)

    def _backprops(self):
        return sorted({row["backprop"] for row in self.rows})

    def _add_ratio(self, name, op, target, above, below):
        """Adds the ratio of two rows' seconds; nothing if one was not measured."""
        if above and below:
            self.add_target(name, above["seconds"] / below["seconds"], op, target)

    def add_targets(self):
        """DGC has targets for the exchange alone: no step is shorter than its backprop, and DDP's with
        the same gradients may take less than 100 times that."""
        for shape in ("vgg16", "resnet50"):
            dgc, ddp, powersgd = (self._find("100mbit", shape, 0.0, column)
                                  for column in ("weir-dgc", "ddp", "ddp-powersgd-4"))
            where = f"100mbit, {shape}, backprop 0 s"
            self._add_ratio(f"{where}: DDP / Weir's DGC", ">=", 100.0, ddp, dgc)
            self._add_ratio(f"{where}: DDP's PowerSGD of rank 4 / Weir's DGC", ">=", 3.0, powersgd,
                            dgc)
        for shape in sorted({row["shape"] for row in self.rows}):
            for backprop in self._backprops():
                ours, theirs = (self._find("none", shape, backprop, column)
                                for column in ("weir-dense", "ddp"))
                where = f"unshaped, {shape}, backprop {backprop:g} s"
                self._add_ratio(f"{where}: Weir's dense / DDP", "<=", 1.0, ours, theirs)

            self._add_bounds(shape)

    def _add_bounds(self, shape):
        for column in BOUNDED:
            row = self._find("100mbit", shape, 0.0, column)
            bound = row and self.bound(row)
            if bound:
                self.add_target(f"100mbit, {shape}, backprop 0 s: {column} / its bound of {bound:.3g} s",
                                row["seconds"] / bound, "<=", WITHIN)

    def bound(self, row):
        """Returns the seconds that a step takes at least, or None."""
        work = self._work.get((row["shape"], row["column"]))
        if work is None:
            return None
        return max(8 * row["MB"] / row["TCP, Mb/s"], row["hosts"] * work / min(row["hosts"], os.cpu_count()))

    def _line(self, shape, column, backprop):
        line = {"shapes": shape, "column": column}
        for network in self.networks:
            row = self._find(network.rate, shape, backprop, column)
            label = network.label()
            line[f"{label}: s (steps)"] = f"{row['seconds']:.4g} ({row['steps']})" if row else "-"
            line[f"{label}: MB"] = row["MB"] if row else "-"
        return line

    def print_tables(self):
        for network in self.networks:
            print(f"{network.label()}: a raw TCP transfer gets {network.measured:g} Mb/s")
        if not all(network.reached for network in self.networks):
            print("* not reached by this machine")
        for backprop in self._backprops():
            print(f"\nbackprop {backprop:g} s: seconds of a step (median; the slowest rank's), "
                  "steps measured, MB that a host sends in it\n")
            pairs = dict.fromkeys((row["shape"], row["column"]) for row in self.rows)
            print_table([self._line(shape, column, backprop) for shape, column in pairs])
