"""Pictures and tables for notebooks: SVG and HTML as text, without a library."""

from __future__ import annotations

import math
from html import escape
from typing import Any, Sequence

_COLORS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")
_DASHES = ("", "6 3", "2 3")
_FONT = 'font-family="sans-serif" font-size="11"'
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 26, 30
_PIXELS = 2  # smallest distance of points that can be told apart


class Chart:
    """Pictures in SVG. A notebook shows them; `svg` is their text."""

    def __init__(self, pictures: list[str]) -> None:
        self.pictures = pictures

    @property
    def svg(self) -> str:
        """The text of the first picture, for a file."""
        return self.pictures[0] if self.pictures else ""

    def _repr_html_(self) -> str:
        return "\n".join(self.pictures)


def _step(span: float, count: int) -> float:
    """A round distance between ticks: 1, 2 or 5 times a power of ten."""
    rough = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= rough * 0.999)


def ticks(least: float, greatest: float, count: int) -> list[float]:
    """Round values within a range."""
    if not greatest > least:
        return [least]
    step = _step(greatest - least, count)
    first = math.ceil(least / step - 1e-9)
    return [at * step for at in range(first, math.floor(greatest / step + 1e-9) + 1)]


def text_of(value: float) -> str:
    """A number as text, for an axis or a table."""
    if value != value or math.isinf(value):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def _thinned(points: list[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """Thins out to roughly `most` points; keeps the minimum and maximum of each piece."""
    if len(points) <= most:
        return points
    size = math.ceil(2 * len(points) / most)
    out = []
    for at in range(0, len(points), size):
        piece = points[at:at + size]
        ends = {min(piece, key=lambda p: p[1]), max(piece, key=lambda p: p[1])}
        out += sorted(ends)
    return out


def lines(title: str, series: Sequence[tuple[str, Sequence[float], Sequence[float]]], width: int, height: int) -> str:
    """A line chart from name, x and y of each line. A value that is not a number leaves a gap."""
    kept = [(name, [(x, y) for x, y in zip(xs, ys) if math.isfinite(y)]) for name, xs, ys in series]
    everything = [point for _, points in kept for point in points]
    legend = len(kept) > 1
    height_of_legend = 16 * math.ceil(len(kept) / 4) if legend else 0
    total = height + height_of_legend
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{total}" '
           f'viewBox="0 0 {width} {total}" role="img" aria-label="{escape(title)}" style="background:#fff">',
           f'<text x="{_LEFT}" y="16" {_FONT} font-weight="bold" fill="#111">{escape(title)}</text>']
    if not everything:
        out.append(f'<text x="{_LEFT}" y="{height / 2}" {_FONT} fill="#555">no points yet</text></svg>')
        return "\n".join(out)
    x0, x1 = min(p[0] for p in everything), max(p[0] for p in everything)
    y0, y1 = min(p[1] for p in everything), max(p[1] for p in everything)
    pad = (y1 - y0) * 0.05 or abs(y1) * 0.05 or 1.0
    y0, y1 = y0 - pad, y1 + pad
    x1 = x1 if x1 > x0 else x0 + 1

    def at(x: float, y: float) -> tuple[float, float]:
        return (_LEFT + (x - x0) / (x1 - x0) * (width - _LEFT - _RIGHT),
                _TOP + (y1 - y) / (y1 - y0) * (height - _TOP - _BOTTOM))

    bottom, right = height - _BOTTOM, width - _RIGHT
    for value in ticks(y0, y1, 5):
        y = at(x0, value)[1]
        out.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e5e7eb"/>'
                   f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" {_FONT} fill="#555" text-anchor="end">{text_of(value)}</text>')
    for value in ticks(x0, x1, 6):
        x = at(value, y0)[0]
        out.append(f'<text x="{x:.1f}" y="{bottom + 16}" {_FONT} fill="#555" text-anchor="middle">{text_of(value)}</text>')
    out.append(f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#9ca3af"/>')
    most = max(2 * (width - _LEFT - _RIGHT) // _PIXELS, 4)
    for index, (name, points) in enumerate(kept):
        color, dash = _COLORS[index % len(_COLORS)], _DASHES[index // len(_COLORS) % len(_DASHES)]
        style = f'stroke="{color}"' + (f' stroke-dasharray="{dash}"' if dash else "")
        places = [at(*point) for point in _thinned(points, most)]
        if len(places) == 1:
            out.append(f'<circle cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}" r="3" fill="{color}"/>')
        elif places:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            out.append(f'<polyline points="{path}" fill="none" {style} stroke-width="1.5"/>')
        if legend:
            x, y = _LEFT + index % 4 * ((width - _LEFT) // 4), height + 16 * (index // 4) + 4
            out.append(f'<line x1="{x}" x2="{x + 16}" y1="{y}" y2="{y}" {style} stroke-width="2"/>'
                       f'<text x="{x + 20}" y="{y + 4}" {_FONT} fill="#111">{escape(name)}</text>')
    return "\n".join([*out, "</svg>"])


def table(columns: dict[str, list[Any]], note: str = "") -> str:
    """An HTML table of columns of the same length, and a sentence below it."""
    names = list(columns)
    rows = len(columns[names[0]]) if names else 0

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return f'<td style="text-align:right">{escape("" if value != value else text_of(value))}</td>'
        return f'<td style="text-align:left">{escape("" if value is None else str(value))}</td>'

    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(cell(columns[name][row]) for name in names) + "</tr>" for row in range(rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (f"<p>{escape(note)}</p>" if note else "")


def runs_table(runs: Sequence[Any]) -> str:
    """A table of runs, like `millrace ls`."""
    names = [name for name in ("loss", "eval.auc", "eval.normalized_entropy") if any(name in run.metrics for run in runs)]
    columns: dict[str, list[Any]] = {
        "run": [run.id for run in runs], "name": [run.label for run in runs], "state": [run.state for run in runs],
        "step": [f"{run.progress.step}/{run.progress.steps_total or '?'}" for run in runs]}
    for name in names:
        columns[name] = [run.metrics.get(name, math.nan) for run in runs]
    return table(columns)
