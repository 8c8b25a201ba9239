"""A plot of optimisers, as SVG: the operators that they leave over the time that they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 80, 60, 30, 50
MOST_LINES = 6
TICKS = [step * 10.0**power for power in range(-9, 10) for step in (1, 2, 5)]
INK, GRID, OWN, OTHER = "#333", "#ddd", "#c0392b", "#2c6fbb"


@dataclass(frozen=True)
class Point:
    label: str
    times: float
    """The time as a multiple of that of the first point."""
    n_operators: int


def svg(points: Sequence[Point], x_title: str, y_title: str) -> str:
    """The plot; its time axis is logarithmic, and the first point is marked."""
    x_ticks = decades(min(point.times for point in points), max(point.times for point in points))
    counts = [point.n_operators for point in points]
    step = next(tick for tick in TICKS if tick >= (max(counts) - min(counts)) / MOST_LINES)
    low, high = math.floor(min(counts) / step) * step, math.ceil(max(counts) / step) * step
    y_ticks = [low + step * index for index in range(round((high - low) / step) + 1)]

    def x(times: float) -> float:
        return LEFT + math.log(times / x_ticks[0]) / math.log(x_ticks[-1] / x_ticks[0]) * (WIDTH - LEFT - RIGHT)

    def y(n_operators: float) -> float:
        return HEIGHT - BOTTOM - (n_operators - low) / ((high - low) or 1) * (HEIGHT - TOP - BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for tick in x_ticks:
        lines.append(line(x(tick), TOP, x(tick), HEIGHT - BOTTOM))
        lines.append(text(x(tick), HEIGHT - BOTTOM + 18, f"{tick:g} x", "middle"))
    for tick in y_ticks:
        lines.append(line(LEFT, y(tick), WIDTH - RIGHT, y(tick)))
        lines.append(text(LEFT - 8, y(tick) + 4, f"{tick:,.0f}", "end"))
    lines.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    title = text(16, middle, y_title, "middle")
    lines.append(f'<g transform="rotate(-90 16 {middle:.0f})">{title}</g>')
    for index, point in enumerate(points):
        fill = OTHER if index else OWN
        lines.append(f'<circle cx="{x(point.times):.1f}" cy="{y(point.n_operators):.1f}" r="5" fill="{fill}"/>')
        lines.append(text(x(point.times), y(point.n_operators) - 10, point.label, "middle"))
    return "\n".join([*lines, "</svg>", ""])


def decades(least: float, most: float) -> list[float]:
    """Some of …, 0.5, 1, 2, 5, 10, …: from the last one below `least` to the first one from `most`."""
    first = max(index for index, tick in enumerate(TICKS) if tick < least)
    last = min(index for index, tick in enumerate(TICKS) if tick >= most and index > first)
    return TICKS[first : last + 1]


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{GRID}"/>'


def text(x: float, y: float, content: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(content)}</text>'
