"""The plot of local-steps: training loss over time and over bytes, a column for each network."""

import matplotlib
from matplotlib import pyplot

from local_steps_columns import ALONE

STYLES = {"dense": ("tab:blue", "-"), "powersgd": ("tab:purple", "-"), "dgc-adam": ("tab:red", "-"),
          "outer-int8": ("tab:green", "-"), "outer-onebit": ("tab:olive", "-"),
          "outer-onebit-overlap": ("tab:olive", "--"), "outer-topk-overlap": ("black", "--")}


def _draw(axes, rows, place, unit):
    for row in rows:
        colour, line = STYLES[row["column"]]
        points = [point for point in row["curve"] if point[place] > 0]
        axes.plot([point[place] / unit for point in points], [point[2] for point in points], color=colour,
                  linestyle=line, linewidth=1.2, label=row["column"])
    axes.grid(True, color="gainsboro")


def save(rows, path):
    """Draws what has been measured; the ending of `path` gives the format."""
    rows = sorted((row for row in rows if row["column"] != ALONE), key=lambda row: list(STYLES).index(row["column"]))
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    shortest = min(row["curve"][-1][0] for row in rows)
    # The same rows make the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "weir", "svg.fonttype": "none", "font.size": 9})
    figure, grid = pyplot.subplots(2, len(rates), squeeze=False, sharey=True, figsize=(3.6 * len(rates) + 1.6, 6.2),
                                   layout="constrained")
    for number, rate in enumerate(rates):
        of_rate = [row for row in rows if row["rate"] == rate]
        _draw(grid[0][number], of_rate, 0, 1)
        grid[0][number].set(title=rate.replace("mbit", " Mb/s").replace("gbit", " Gb/s"), xlabel="seconds", xlim=(0, shortest))
        _draw(grid[1][number], of_rate, 1, 1e6)
        grid[1][number].set(xlabel="MB that a rank has sent", xscale="log")
    figure.supylabel("training loss, bits a byte")
    handles = {}
    for axes in grid.flat:
        for handle, column in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(column, handle)
    figure.legend(list(handles.values()), list(handles), loc="outside right center", frameon=False)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    pyplot.close(figure)
