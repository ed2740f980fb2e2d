"""The plot of slow-network: seconds a step over the network's real rate."""

import matplotlib
from matplotlib import pyplot

# One colour per family, one line per member.
STYLES = {"ddp": ("black", "-"), "ddp-fp16": ("black", "--"), "ddp-powersgd-1": ("dimgrey", ":"),
          "ddp-powersgd-2": ("dimgrey", "--"), "ddp-powersgd-4": ("dimgrey", "-"),
          "weir-dense": ("tab:blue", "-"), "weir-fp16": ("tab:blue", "--"),
          "weir-int8": ("tab:cyan", "-"), "weir-dithering": ("tab:cyan", "--"),
          "weir-onebit": ("tab:green", "-"), "weir-powersgd-4": ("tab:purple", "-"),
          "weir-randomk": ("tab:olive", "-"), "weir-topk": ("tab:orange", "-"),
          "weir-dgc": ("tab:red", "-"), "weir-dgc-split": ("tab:red", ":"),
          "weir-dgc-push-pull": ("tab:pink", "-"),
          "weir-dgc-serial": ("tab:red", "--")}


def _draw(axes, rows):
    for column in dict.fromkeys(row["column"] for row in rows):
        points = sorted((row for row in rows if row["column"] == column),
                        key=lambda row: row["TCP, Mb/s"])
        colour, line = STYLES.get(column, (None, "-"))
        drawn, = axes.plot([row["TCP, Mb/s"] for row in points],
                           [row["seconds"] for row in points],
                           color=colour, linestyle=line, linewidth=1.2, label=column)
        for row in points:
            full = row["reached"] and row["rate"] != "none"
            axes.plot(row["TCP, Mb/s"], row["seconds"], "o", markersize=4, color=drawn.get_color(),
                      markerfacecolor=drawn.get_color() if full else "white")


def save(rows, path):
    """Writes one picture for each set of shapes and backprop; the ending of `path` gives the format."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    backprops = sorted({row["backprop"] for row in rows})
    # The same rows make the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "weir", "svg.fonttype": "none", "font.size": 9})
    figure, grid = pyplot.subplots(len(backprops), len(shapes), squeeze=False, sharex=True,
                                   figsize=(4.2 * len(shapes) + 1.8, 3.4 * len(backprops)),
                                   layout="constrained")
    for line, backprop in zip(grid, backprops):
        for axes, shape in zip(line, shapes):
            _draw(axes, [row for row in rows
                         if row["shape"] == shape and row["backprop"] == backprop])
            axes.set(title=f"{shape}, backprop {backprop:g} s", xscale="log", yscale="log")
            axes.grid(True, which="major", color="gainsboro")
    figure.supxlabel("Mb/s of a raw TCP transfer (hollow: not limited, or less than was asked for)")
    figure.supylabel("seconds a step")
    drawn = {}  # By column: not every set has all of them.
    for axes in grid.flat:
        for handle, column in zip(*axes.get_legend_handles_labels()):
            drawn.setdefault(column, handle)
    named = [column for column in STYLES if column in drawn]
    named += [column for column in drawn if column not in STYLES]
    figure.legend([drawn[column] for column in named], named, loc="outside right center",
                  frameon=False)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    pyplot.close(figure)
