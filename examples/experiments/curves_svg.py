"""Curves of trainings as an SVG: one colour a method, one thin line a seed, their mean thick."""

import math

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 40, 48
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # told apart by colour-blind readers too


def _ticks(low, high, count=6):
    """About `count` round numbers from low to high."""
    raw = (high - low) / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


class _Frame:
    """Maps points to the picture. `falls`: the values fall to their best ones, and do not rise to them."""

    def __init__(self, points, falls):
        values = sorted(value for _, value in points)
        self.x_range = (0, max(x for x, _ in points))
        # The first points would flatten all the rest: leave out the worst tenth.
        tenth = int(0.1 * (len(values) - 1))
        low, high = (values[0], values[len(values) - 1 - tenth]) if falls else (values[tenth], values[-1])
        margin = 0.05 * max(high - low, 0.01)
        self.y_range = (low - margin, high + margin)

    def x(self, x):
        low, high = self.x_range
        return LEFT + (x - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, y):
        low, high = self.y_range
        return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def _finite(curve):
    return [(x, y) for x, y in curve if y is not None and math.isfinite(y)]


def _line(frame, curve, colour, width):
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in curve)
    return (f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
            'clip-path="url(#plot)"/>')


def _mean(curves):
    """Mean over the seeds, where all of them have a point."""
    common = set.intersection(*(set(dict(curve)) for curve in curves))
    return [(x, sum(dict(curve)[x] for curve in curves) / len(curves)) for x in sorted(common)]


def _axes(frame, x_label, y_label):
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [f'<rect x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}" '
             'fill="none" stroke="#888"/>']
    for tick in _ticks(*frame.x_range):
        x = frame.x(tick)
        parts.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}" '
                     'stroke="#888"/>'
                     f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:,.0f}</text>')
    for tick in _ticks(*frame.y_range):
        y = frame.y(tick)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:.4g}</text>')
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{x_label}'
                 f'</text><text x="{LEFT}" y="{TOP - 14}">{y_label}</text>')
    return parts


def svg(curves, x_label, y_label, falls=True):
    """`curves`: {label: [a seed's [(x, y)]]}. A y of None or NaN is left out, and so is a label without a finite point."""
    finite = {label: [c for c in map(_finite, of_label) if c] for label, of_label in curves.items()}
    finite = {label: lines for label, lines in finite.items() if lines}
    points = [point for lines in finite.values() for line in lines for point in line]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
             f'height="{HEIGHT - TOP - BOTTOM}"/></clipPath>',
             '<rect width="100%" height="100%" fill="white"/>']
    if points:
        frame = _Frame(points, falls)
        parts += _axes(frame, x_label, y_label)
        # The corner that curves leave free.
        y = TOP + 20 if falls else HEIGHT - BOTTOM - 18 * len(finite)
        for index, (label, lines) in enumerate(finite.items()):
            colour = COLOURS[index % len(COLOURS)]
            parts += [_line(frame, line, colour, 0.6) for line in lines]
            parts.append(_line(frame, _mean(lines), colour, 2))
            x = WIDTH - RIGHT - 180
            parts.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" '
                         f'stroke="{colour}" stroke-width="2"/><text x="{x + 30}" y="{y}">{label}'
                         '</text>')
            y += 18
    return "\n".join([*parts, "</svg>", ""])
