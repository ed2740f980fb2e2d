"""The plot of train-quality: how much worse than dense each configuration is, with its interval."""

import math

import matplotlib.lines
import matplotlib.patches
import matplotlib.ticker
from matplotlib import pyplot

from train_quality_grid import MODELS, RATES

COLOURS = {"high": "tab:red", "low": "tab:blue", "tuned": "tab:green"}
BETTER, WORSE = 5, 100  # Shown range, in multiples of the target.


def _clamp(value, target):
    return max(-BETTER * target, min(WORSE * target, value))


def _draw(axes, groups, configs):
    """Draws one model, density and length: a line for each configuration, both rates."""
    target = MODELS[groups[0].model].target
    axes.axvspan(-target, target, color="0.92", zorder=0)
    axes.axvline(0, color="0.6", linewidth=0.8, zorder=1)
    for group in groups:
        shift = {"high": 0.14, "low": -0.14}.get(group.rate, 0.0)
        colour = COLOURS[group.rate]
        for line in group.lines:
            if line.config not in configs or line.config == group.base:
                continue
            y = configs.index(line.config) - shift
            if line.worse is None or line.diverged:
                axes.plot(0.85 * WORSE * target, y, "x", color=colour, markersize=5)
                continue
            if line.worse.count > 1:
                ends = [_clamp(end, target) for end in line.worse.ends]
                axes.plot(ends, [y, y], color=colour, linewidth=1.4, solid_capstyle="butt")
            shown = _clamp(line.worse.mean, target)
            axes.plot(shown, y, "o" if shown == line.worse.mean else ">", color=colour,
                      markersize=3.5, clip_on=False)
    axes.set_xscale("symlog", linthresh=target, linscale=0.7)
    axes.set_xlim(-BETTER * target, WORSE * target)
    axes.set_xticks([-target, 0, target, 10 * target, 100 * target])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g}" if value else "0")
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_ylim(len(configs) - 0.5, -0.5)
    axes.grid(True, axis="y", color="0.95")
    axes.set_axisbelow(True)
    axes.tick_params(left=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _places(groups):
    """{(density, steps): configurations} in the order of the tables."""
    found = {}
    for group in groups:
        configs = found.setdefault((group.density, group.steps), [])
        configs += [line.config for line in group.lines
                    if line.config != group.base and line.config not in configs]
    return found


def _legend(figure):
    handles = [matplotlib.lines.Line2D([], [], color=COLOURS[rate], marker="o", markersize=4,
                                       label=f"{rate} learning rate") for rate in reversed(RATES)]
    handles.append(matplotlib.lines.Line2D([], [], color="0.3", marker="x", linestyle="",
                                           label="diverged"))
    handles.append(matplotlib.patches.Patch(color="0.92", label="target"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False)


def save(groups, path):
    """Draws a column for each model, a row for each density and length; the ending of `path` gives the
    format."""
    groups = [group for group in groups if not group.model.startswith("tuned-")]  # Two rows would fill a panel.
    models = [model for model in MODELS if any(group.model == model for group in groups)]
    places = _places(groups)
    # The same rows make the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "weir", "svg.fonttype": "none", "font.size": 9})
    heights = [len(configs) + 2.5 for configs in places.values()]
    figure, grid = pyplot.subplots(
        len(places), len(models), squeeze=False, sharey="row",
        figsize=(3.1 * len(models) + 1.6, math.fsum(heights) * 0.24 + 0.9),
        height_ratios=heights, layout="constrained")
    for number, ((density, steps), configs) in enumerate(places.items()):
        row = grid[number]
        for axes, model in zip(row, models):
            shown = [group for group in groups
                     if (group.model, group.density, group.steps) == (model, density, steps)]
            if not shown:
                axes.set_visible(False)
                continue
            _draw(axes, shown, configs)
            unit = "points of accuracy" if MODELS[model].is_accuracy else "% of bits per byte"
            if number == 0:
                axes.set_title(f"{model}, {unit}", fontsize=9, fontweight="bold")
        row[0].set_yticks(range(len(configs)), configs)
        row[0].set_ylabel(f"{100 * density:g} %,\n{steps:,} steps", fontweight="bold", rotation=0,
                          ha="right", va="center")
    figure.align_ylabels(grid[:, 0])
    figure.supxlabel("worse than dense by: mean and 95 % interval (right is worse; linear within the "
                     "target, logarithmic beyond)", fontsize=9)
    _legend(figure)
    figure.savefig(path, dpi=110, metadata={"Date": None} if str(path).endswith(".svg") else None)
    pyplot.close(figure)
