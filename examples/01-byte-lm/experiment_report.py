"""Results of experiment.py's runs: best rates, the paired difference, as Markdown."""

import math
import statistics

from paired import paired_difference, table


def _bits(kept):
    bits = kept["result"]["bits_per_byte"]
    return math.inf if bits is None else bits


def _bits_by_rate(kept_runs, method, seed):
    return {kept["run"]["rate"]: _bits(kept) for kept in kept_runs
            if kept["run"]["method"] == method and kept["run"]["seed"] == seed}


def best_rate(kept_runs, method):
    """The method's best rate in the runs of a grid, which have one seed."""
    by_rate = _bits_by_rate(kept_runs, method, kept_runs[0]["run"]["seed"])
    return min(by_rate, key=by_rate.get)


def _method(kept_runs, by_rate):
    """Everything about one method, from all its runs and the grid's figures."""
    rates = sorted(by_rate)
    best = min(rates, key=by_rate.get)
    at_best = {k["run"]["seed"]: k for k in kept_runs if k["run"]["rate"] == best}
    results = [kept["result"] for kept in at_best.values()]
    return {
        "by_rate": by_rate,
        "best_rate": best,
        "inside": rates[0] < best < rates[-1],
        "bits": {seed: _bits(kept) for seed, kept in at_best.items()},
        "curves": {seed: kept["result"]["curve"] for seed, kept in at_best.items()},
        "sent_bytes": statistics.fmean(r["sent_bytes"] for r in results),
        "dense_bytes": statistics.fmean(r["dense_bytes"] for r in results),
        "seconds": statistics.fmean(r["training_seconds"] for r in results),
    }


def analyse(kept_runs, methods, grid_seed):
    """Findings from all runs; the first of `methods` is the baseline of the comparisons."""
    by_method = {name: _method([k for k in kept_runs if k["run"]["method"] == name],
                               _bits_by_rate(kept_runs, name, grid_seed))
                 for name in methods}
    baseline = by_method[methods[0]]
    comparisons = {}
    for name in methods[1:]:
        mean, half_width = paired_difference(baseline["bits"], by_method[name]["bits"])
        percent = 100.0 / statistics.fmean(baseline["bits"].values())
        comparisons[name] = {"mean": mean, "half_width": half_width,
                             "percent": mean * percent, "percent_half_width": half_width * percent}
    result = kept_runs[0]["result"]
    return {"grid_seed": grid_seed, "settings": kept_runs[0]["run"],
            "parameters": result["parameters"], "eval_windows": result["settings"]["eval_windows"],
            "methods": by_method, "baseline": methods[0], "comparisons": comparisons}


def curves(findings):
    """{label: the seeds' curves} for a picture."""
    return {f"{name}, rate {method['best_rate']:g}": list(method["curves"].values())
            for name, method in findings["methods"].items()}


def _number(value, digits=4):
    return f"{value:.{digits}f}" if math.isfinite(value) else "diverged"


def _grid_table(findings):
    methods = findings["methods"]
    rates = sorted({rate for method in methods.values() for rate in method["by_rate"]})
    rows = []
    for name, method in methods.items():
        cells = [_number(method["by_rate"][r]) if r in method["by_rate"] else ""
                 for r in rates]
        if method["best_rate"] in rates:
            index = rates.index(method["best_rate"])
            cells[index] = f"**{cells[index]}**"
        rows.append([name, *cells])
    return table(["learning rate", *(f"{rate:g}" for rate in rates)], rows)


def _best_table(findings):
    steps = findings["settings"]["steps"]
    rows = []
    for name, method in findings["methods"].items():
        sent, dense = method["sent_bytes"], method["dense_bytes"]
        rows.append([
            name, f"{method['best_rate']:g}", "yes" if method["inside"] else "**no**",
            ", ".join(_number(method["bits"][seed]) for seed in sorted(method["bits"])),
            _number(statistics.fmean(method["bits"].values())), f"{sent / steps:,.0f}",
            f"{dense / sent:.1f}x" if sent else "-", f"{method['seconds']:.0f}",
        ])
    return table(["method", "best rate", "inside its grid", "bits per byte, by seed", "mean",
                   "bytes per step and rank", "less than dense", "training s"], rows)


def _comparison(findings, name):
    c = findings["comparisons"][name]
    low, high = c["percent"] - c["percent_half_width"], c["percent"] + c["percent_half_width"]
    verdict = "within" if abs(c["percent"]) <= 1.0 else "**not** within"
    return (f"{name} minus {findings['baseline']}, paired by seed: {c['mean']:+.4f} bits per byte "
            f"(95 % interval {c['mean'] - c['half_width']:+.4f} to "
            f"{c['mean'] + c['half_width']:+.4f}), that is {c['percent']:+.2f} % "
            f"({low:+.2f} % to {high:+.2f} %): {verdict} 1 %.")


def markdown(findings):
    """The whole report."""
    s = findings["settings"]
    seeds = len(findings["methods"][findings["baseline"]]["bits"])
    comparisons = "\n\n".join(_comparison(findings, name) for name in findings["comparisons"])
    return f"""# byte-lm: dense against compressed

{findings["parameters"]:,} parameters, {s["ranks"]} ranks of {s["batch"]} windows, {s["steps"]:,} steps, momentum {s["momentum"]:g},
{s["schedule"]} learning rate, {seeds} seeds. For a seed, all methods start from the same parameters and see the
same data in the same order. Figures are bits per byte on the whole validation text at the end. How
they came about: [Experiments](README.md).

The grid was run with seed {findings["grid_seed"]}; each method's best rate, in bold, was then run with the other seeds:

{_grid_table(findings)}

Each method at its best rate:

{_best_table(findings)}

{comparisons}

![Validation curves](byte-lm.svg)

On the way, on {findings["eval_windows"]:,} windows of the validation text: each seed thin, their mean thick.
"""
