"""Plots as SVG, written by hand: bars and lines that read well on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.value { font-size: 11px; }
.axis { stroke: #8c959f; }
.c0 { fill: #0969da; stroke: #0969da; } .c1 { fill: #54aeff; stroke: #54aeff; }
.c2 { fill: #bc4c00; stroke: #bc4c00; } .c3 { fill: #8250df; stroke: #8250df; }
.c4 { fill: #1a7f37; stroke: #1a7f37; } .c5 { fill: #9a6700; stroke: #9a6700; }
.c6 { fill: #6e7781; stroke: #6e7781; }
.line { fill: none; stroke-width: 2; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } }
</style>"""

_WIDTH = 860
_LEFT = 250
_RIGHT = 110


def bar_groups(
    title: str, groups: Sequence[tuple[str, Sequence[tuple[str, float | None, str]]]]
) -> str:
    """Draw groups of horizontal bars: (label, [(series, value or None, text beside the bar)]).

    Each group has its own scale, its longest bar filling the width.
    """
    series = list(dict.fromkeys(name for _, bars in groups for name, _, _ in bars))
    parts: list[str] = [_text(10, 22, title, "title"), *_legend(series)]
    y = 66
    for label, bars in groups:
        longest = max((value or 0.0 for _, value, _ in bars), default=0.0) or 1.0
        parts.append(_text(10, y + 8 * len(bars), label))
        for name, value, beside in bars:
            length = (value or 0.0) / longest * (_WIDTH - _LEFT - _RIGHT)
            if value is not None:
                shape = f'x="{_LEFT}" y="{y}" width="{max(length, 1):.1f}" height="12" rx="2"'
                parts.append(f'<rect class="c{series.index(name)}" {shape}/>')
            parts.append(_text(_LEFT + length + 6, y + 10, beside, "value"))
            y += 15
        y += 12
    return _document(y, title, parts)


def lines(
    title: str, x_label: str, series: Sequence[tuple[str, Sequence[tuple[float, float]]]]
) -> str:
    """Draw lines from 0, each on its own scale, with their last and largest values named."""
    top, height, left = 70, 220, 20
    parts = [_text(10, 22, title, "title"), *_legend([name for name, _ in series])]
    x_max = max((x for _, points in series for x, _ in points), default=1.0) or 1.0
    width = _WIDTH - left - _RIGHT - 60
    for number, (_, points) in enumerate(series):
        y_max = max((y for _, y in points), default=1.0) * 1.1 or 1.0
        places = [
            f"{left + x / x_max * width:.1f},{top + height - y / y_max * height:.1f}"
            for x, y in points
        ]
        parts.append(f'<polyline class="line c{number}" fill="none" points="{" ".join(places)}"/>')
        last = points[-1][1]
        largest = max(y for _, y in points)
        at = top + height - last / y_max * height
        parts.append(
            _text(left + width + 8, at + 4 + 14 * number % 28, f"{last:,.1f} (max {largest:,.1f})")
        )
    bottom = top + height
    parts.append(
        f'<line class="axis" x1="{left}" y1="{bottom}" x2="{left + width}" y2="{bottom}"/>'
    )
    parts.append(_text(left, bottom + 18, f"0 … {x_max:,.0f} {x_label}", "value"))
    return _document(bottom + 30, title, parts)


def _legend(series: Sequence[str]) -> list[str]:
    parts: list[str] = []
    x = 10.0
    for number, name in enumerate(series):
        parts.append(f'<rect class="c{number}" x="{x}" y="36" width="10" height="10" rx="2"/>')
        parts.append(_text(x + 15, 45, name, "value"))
        x += 30 + 6.6 * len(name)
    return parts


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _document(height: float, title: str, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", _STYLE, *parts, "</svg>"]) + "\n"
