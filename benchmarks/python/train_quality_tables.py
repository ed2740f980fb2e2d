"""The tables of train-quality, in Markdown."""

from train_quality_grid import MODELS
from train_quality_statistics import ABLATION_ORDER, configs_of


def _markdown(header, lines):
    return "\n".join("| " + " | ".join(cells) + " |"
                     for cells in [header, ["---"] * len(header), *lines])


def _number(value, digits=3):
    return "diverged" if value is None else f"{value:.{digits}f}"


def _line_of_table(group, line):
    target = MODELS[group.model].target
    score = _number(line.score, 2 if MODELS[group.model].is_accuracy else 3)
    if line.diverged and line.score is not None:
        score += f" ({line.diverged} diverged)"
    # Says nothing if the rest did not diverge.
    verdict = "" if line.worse is None else "worse" if line.diverged else line.worse.verdict(target)
    worse, than_dgc = ("" if interval is None else interval.text()
                       for interval in (line.worse, line.than_dgc))
    return [line.config, str(line.seeds), score, worse, verdict, than_dgc, _number(line.loss),
            f"{line.times:.3g}"]


def _table(group):
    metric = MODELS[group.model].metric
    rate = getattr(MODELS[group.model], group.rate)
    title = (f"**{group.model}**, density {100 * group.density:g} %, {group.steps:,} steps, learning "
             f"rate {rate:g} ({group.rate}):")
    header = ["configuration", "seeds", metric, f"worse than dense, {group.unit}", "verdict",
              "than dgc", "training loss", "times less sent"]
    lines = [_line_of_table(group, line) for line in group.lines]
    return title + "\n\n" + _markdown(header, lines)


def _order(group):
    steps = group.order()
    if not steps:
        return ""
    words = [f"{above} {'>' if higher is None or higher.mean > 0 else '<'} {below} "
             f"({'diverged' if higher is None else higher.text(3)})"
             for above, below, higher in steps]
    return (f"Training loss, {group.model}, {group.steps:,} steps, {group.rate} rate: "
            + ", ".join(words) + ".")


def details(groups):
    """Returns everything, a table for each group."""
    parts = [_table(group) for group in groups]
    orders = [_order(group) for group in groups if group.density == 0.01]
    return "\n\n".join(part for part in [*parts, *orders] if part) + "\n"


def _column(group):
    return f"{group.model} {getattr(MODELS[group.model], group.rate):g}, {group.unit}"


def _cell(group, config, seeds):
    """Returns how much worse than dense; bold within the target."""
    line = group.line(config)
    if line is None:
        return ""
    if config == group.base:
        return _number(line.score, 2 if MODELS[group.model].is_accuracy else 3)
    if line.diverged:
        return f"{line.diverged} of {line.seeds} diverged"
    if line.worse is None:
        return ""
    within = line.worse.verdict(MODELS[group.model].target) == "within"
    text = f"**{line.worse.text()}**" if within else line.worse.text()
    return text if line.worse.count == seeds else f"{text} ({line.worse.count})"


def _summary(groups, seeds):
    """Summarises one density and length, of one optimizer."""
    density, steps = groups[0].density, groups[0].steps
    optimizer = ", AdamW" if groups[0].rate == "tuned" else ""
    groups = sorted(groups, key=lambda group: list(MODELS).index(group.model))
    lines = [[config, *(_cell(group, config, seeds) for group in groups)]
             for config in configs_of(density) if any(group.line(config) for group in groups)]
    return (f"Density {100 * density:g} %, {steps:,} steps{optimizer}:\n\n"
            + _markdown(["configuration", *map(_column, groups)], lines))


def _order_summary(groups):
    """Summarises one length: the decrease of training loss along the ablation's order."""
    orders = [{pair[:2]: pair[2] for pair in group.order()} for group in groups]
    lines = []
    for pair in zip(ABLATION_ORDER, ABLATION_ORDER[1:]):
        if any(pair in order for order in orders):
            found = [order[pair].text(3) if order.get(pair) else "" for order in orders]
            lines.append([" - ".join(pair), *found])
    columns = [f"{group.model} {getattr(MODELS[group.model], group.rate):g}" for group in groups]
    return (f"Training loss, {groups[0].steps:,} steps:\n\n"
            + _markdown(["difference", *columns], lines)) if lines else ""


def summary(groups):
    """All models side by side, a table for each density and length."""
    seeds = max((line.seeds for group in groups for line in group.lines), default=0)
    places = {}
    for group in groups:
        places.setdefault((group.density, group.steps, group.base), []).append(group)
    parts = [_summary(alike, seeds) for alike in places.values()]
    parts += [_order_summary(alike)
              for (density, _, base), alike in places.items() if density == 0.01 and base == "dense"]
    return "\n\n".join(part for part in parts if part) + "\n"
