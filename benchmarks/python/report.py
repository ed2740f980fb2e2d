"""Report of a Python benchmark, like benchmarks/report.h for the C++ ones."""

import argparse
import json
import os
import platform
import random
import statistics
import time


def seconds(work):
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleave(rounds, candidates, before=lambda: None):
    """Calls every candidate in turn, in a different order each round, the same in every run. Returns
    each one's seconds per round. `before`, called each time, is not counted: if ranks meet in it,
    nobody's time includes others' remaining work on the candidate before."""
    shuffle = random.Random(1)
    times = [[] for _ in candidates]
    for _ in range(rounds):
        order = list(range(len(candidates)))
        shuffle.shuffle(order)
        for i in order:
            before()
            times[i].append(seconds(candidates[i]))
    return times


def median_ratio(times, base):
    """Median over rounds of times[i] / base[i]."""
    return statistics.median(a / b for a, b in zip(times, base))


def arguments(description):
    """Returns the command line that all of them share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", metavar="FILE", help="also write the report there")
    return parser


def print_table(rows):
    """Prints dictionaries with the same keys."""
    lines = [list(rows[0])] + [
        [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
    print()


class Report:
    """Rows of one table, and figures with targets."""

    def __init__(self, name):
        self.name, self.rows, self.targets = name, [], []
        self.more = {}  # Further parts of the benchmark's file.

    def add_target(self, name, value, op, target):
        """`op` is ">=" or "<=": the wanted relation of `value` to `target`."""
        met = value >= target if op == ">=" else value <= target
        self.targets.append({"name": name, "value": value, "op": op, "target": target, "met": met})

    def print(self):
        print(f"{self.name}\n{platform.system()} {platform.release()}, {os.cpu_count()} cores\n")
        self.print_tables()
        for target in self.targets:
            print(f"{'met    ' if target['met'] else 'MISSED '} {target['name']}: "
                  f"{target['value']:.4g} (target {target['op']} {target['target']:g})")

    def print_tables(self):
        print_table(self.rows)

    def end(self, options):
        """Prints the report, and writes it to the command line's file."""
        self.print()
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump({"name": self.name, "machine": {"cores": os.cpu_count()},
                           "rows": self.rows, "targets": self.targets, **self.more}, file, indent=2)
