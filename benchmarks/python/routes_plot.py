"""The plot of the benchmark routes: bytes over ranks, a picture for each density."""

import matplotlib
from matplotlib import pyplot, ticker

from routes_table import ROUTES

STYLES = {"dense": ("black", "o"), "allgather": ("tab:blue", "s"), "split": ("tab:orange", "^"),
          "hierarchical": ("tab:green", "D"), "push_pull": ("tab:purple", "v")}
LABELS = {"dense": "dense all-reduce", "allgather": "all-gather", "split": "split all-gather",
          "hierarchical": "hierarchical, 2 ranks a host", "push_pull": "push/pull"}


def _shown(rows, route, density):
    """Each number of ranks once: a rank on each host, or as few as the route takes."""
    return sorted((row for row in rows if row["route"] == route
                   and row["ranks on a host"] == ROUTES[route].least_on_host
                   and (row["density"] == density or not ROUTES[route].compresses)),
                  key=lambda row: row["ranks"])


def _draw(axes, rows, density):
    for route in ROUTES:
        found = {row["ranks"]: row for row in _shown(rows, route, density)}
        if not found:
            continue
        colour, marker = STYLES[route]
        ranks = list(found)
        for key, look in (("formula", {"linewidth": 1.2}),
                          ("leaving a host", {"linestyle": "", "marker": marker, "markersize": 4.5,
                                              "label": LABELS[route]})):
            axes.plot(ranks, [row[key] / row["elements"] / 4 for row in found.values()],
                      color=colour, **look)


def save(rows, path):
    """The ending of `path` says which format."""
    densities = sorted({row["density"] for row in rows if row["density"] < 1})
    # The same rows make the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "weir", "svg.fonttype": "none", "font.size": 9})
    columns = min(3, len(densities))
    lines = -(-len(densities) // columns)
    figure, grid = pyplot.subplots(lines, columns, squeeze=False, sharex=True,
                                   figsize=(2.9 * columns + 0.4, 2.8 * lines + 0.7),
                                   layout="constrained")
    for axes, density in zip(grid.flat, densities):
        _draw(axes, rows, density)
        axes.set(title=f"density {100 * density:g} %", yscale="log",
                 xticks=sorted({row["ranks"] for row in rows}))
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1,) if high / low > 100 else (1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(True, which="major", color="gainsboro")
    for axes in grid.flat[len(densities):]:
        axes.set_axis_off()
    figure.supxlabel("ranks (points: measured; lines: formula)")
    figure.supylabel("bytes a host sends in a step / bytes of its gradients (4n)")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    pyplot.close(figure)
