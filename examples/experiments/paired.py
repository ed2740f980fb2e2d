"""Differences between methods, seed by seed: pairing takes out what a seed does to both."""

import math
import statistics

# Two-sided 95 % quantiles of Student's t distribution, by degrees of freedom.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
MOST_SEEDS = max(T_95) + 1


def paired_difference(baseline, other):
    """Mean of other - baseline over seeds, and the half width of its 95 % interval: infinite for one seed.

    Both arguments map seed to value.
    """
    differences = [other[seed] - baseline[seed] for seed in sorted(baseline)]
    count = len(differences)
    if count < 2:
        return differences[0], math.inf
    error = statistics.stdev(differences) / math.sqrt(count)
    return statistics.fmean(differences), T_95[count - 1] * error


def table(header, rows):
    """A table in Markdown; all cells are text."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
