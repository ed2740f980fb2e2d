"""Results of experiment.py's runs: accuracies, the paired difference, as Markdown."""

import math
import statistics

from paired import paired_difference, table

TARGET = 0.3  # Points of accuracy.
# Published for ResNet-110, 164 epochs, 4 GPUs, batches of 128 in all (Lin et al., ICLR 2018, table 2).
PAPER = {"dense": 93.75, "dgc": 93.87}


def _method(kept_runs):
    results = [kept["result"] for kept in kept_runs]
    return {"accuracy": {kept["run"]["seed"]: kept["result"]["accuracy"] for kept in kept_runs},
            "curves": [result["curve"] for result in results],
            "steps": results[0]["steps"],
            "sent_bytes": statistics.fmean(result["sent_bytes"] for result in results),
            "dense_bytes": statistics.fmean(result["dense_bytes"] for result in results),
            "seconds": statistics.fmean(result["seconds"] for result in results)}


def analyse(kept_runs, methods):
    """Findings from all runs; the first of `methods` is what the others are compared with."""
    by_method = {name: _method([kept for kept in kept_runs if kept["run"]["method"] == name]) for name in methods}
    base = by_method[methods[0]]["accuracy"]
    return {"run": kept_runs[0]["run"], "parameters": kept_runs[0]["result"]["parameters"], "methods": by_method,
            "differences": {name: paired_difference(base, by_method[name]["accuracy"]) for name in methods[1:]}}


def curves(findings, column):
    """{method: the seeds' [(epoch, value)]}; `column` of the program's curve: 1 accuracy, 2 loss."""
    return {name: [[(point[0], point[column]) for point in curve] for curve in method["curves"]]
            for name, method in findings["methods"].items()}


def _difference(findings, name):
    if name not in findings["differences"]:
        return ""
    mean, half = findings["differences"][name]
    return f"{mean:+.2f} ± {half:.2f}" if math.isfinite(half) else f"{mean:+.2f}"


def _table(findings):
    rows = []
    for name, method in findings["methods"].items():
        accuracies = [method["accuracy"][seed] for seed in sorted(method["accuracy"])]
        sent, steps = method["sent_bytes"], method["steps"]
        rows.append([name, ", ".join(f"{value:.2f}" for value in accuracies), f"{statistics.fmean(accuracies):.2f}",
                     _difference(findings, name), f"{sent / steps:,.0f}", f"{method['dense_bytes'] / sent:.1f}x",
                     f"{method['seconds']:.0f}"])
    return table(["method", "accuracy by seed, %", "mean", "minus dense, points", "bytes per step and rank",
                  "less than dense", "s"], rows)


def _verdicts(findings):
    for name, (mean, half) in findings["differences"].items():
        verdict = "within" if mean >= -TARGET else "**not** within"
        sure = "" if mean - half >= -TARGET or mean + half < -TARGET else "; the interval goes beyond"
        if math.isinf(half):
            sure = ", with one seed, which may be chance"
        yield f"* {name}: {verdict} {TARGET:g} points of dense{sure}."


def markdown(findings):
    """The whole report."""
    run, methods = findings["run"], findings["methods"]
    seeds, steps = (len(methods["dense"]["accuracy"]), methods["dense"]["steps"])
    verdicts = "\n".join(_verdicts(findings))
    return f"""# cifar10: the paper's task, dense against compressed

ResNet-{run["depth"]} with {run["width"]} channels in its first stage and batch norm ({findings["parameters"]:,} parameters), {run["ranks"]} ranks of {run["batch"]} images,
{run["images"]:,} images, {run["epochs"]} epochs ({steps:,} steps), SGD with momentum 0.9, weight decay 0.0001, rate {run["rate"]:g}, a tenth of it from the middle on and
a hundredth from three quarters on; {seeds} {"seed" if seeds == 1 else "seeds"}. Compressed: density 0.1 % after a warm-up of {run["warmup_epochs"]} epochs.
How it came about: [Experiments](README.md).

{_table(findings)}

{verdicts}

± is the 95 % interval of the difference, paired by seed. Accuracies are those after the last epoch, on the 10,000 test images.

![Accuracy over epochs](cifar10-accuracy.svg)

![Training loss over epochs](cifar10-loss.svg)

Each seed thin, their mean thick. The paper's figure 3 has the same two curves of ResNet-110 over 164 epochs: that of DGC follows
that of dense training, and they end at {PAPER["dense"]:.2f} % (dense) and {PAPER["dgc"]:.2f} % (DGC).
"""
