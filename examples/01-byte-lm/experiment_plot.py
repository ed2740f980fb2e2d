"""The validation curves of experiment.py as an SVG, one colour a method, one thin line a seed."""

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
    """Maps steps and bits per byte to the picture."""

    def __init__(self, points):
        steps = [step for step, _ in points]
        bits = sorted(value for _, value in points)
        self.x_range = (0, max(steps))
        # The first points of a hot rate would flatten all the rest: leave out the top tenth.
        top = bits[int(0.9 * (len(bits) - 1))]
        margin = 0.05 * max(top - bits[0], 0.01)
        self.y_range = (bits[0] - margin, top + margin)

    def x(self, step):
        low, high = self.x_range
        return LEFT + (step - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, bits):
        low, high = self.y_range
        return HEIGHT - BOTTOM - (bits - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def _finite(curve):
    return [(step, bits) for step, bits in curve if bits is not None]


def _line(frame, curve, colour, width):
    points = " ".join(f"{frame.x(s):.1f},{frame.y(b):.1f}" for s, b in curve)
    return (f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
            'clip-path="url(#plot)"/>')


def _mean(curves):
    """Mean over the seeds, at the steps that all of them have."""
    common = set.intersection(*(set(dict(curve)) for curve in curves))
    return [(step, sum(dict(c)[step] for c in curves) / len(curves)) for step in sorted(common)]


def _axes(frame):
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
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">step'
                 f'</text><text x="{LEFT}" y="{TOP - 14}">validation, bits per byte</text>')
    return parts


def svg(findings):
    """One picture; methods without a finite point are left out."""
    curves = {name: [c for c in map(_finite, method["curves"].values()) if c]
              for name, method in findings["methods"].items()}
    curves = {name: lines for name, lines in curves.items() if lines}
    points = [point for lines in curves.values() for line in lines for point in line]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
             f'height="{HEIGHT - TOP - BOTTOM}"/></clipPath>',
             '<rect width="100%" height="100%" fill="white"/>']
    if points:
        frame = _Frame(points)
        parts += _axes(frame)
        for index, (name, lines) in enumerate(curves.items()):
            colour = COLOURS[index % len(COLOURS)]
            parts += [_line(frame, line, colour, 0.6) for line in lines]
            parts.append(_line(frame, _mean(lines), colour, 2))
            x, y = WIDTH - RIGHT - 150, TOP + 20 + 18 * index
            label = f"{name}, rate {findings['methods'][name]['best_rate']:g}"
            parts.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" '
                         f'stroke="{colour}" stroke-width="2"/><text x="{x + 30}" y="{y}">{label}'
                         '</text>')
    return "\n".join([*parts, "</svg>", ""])
