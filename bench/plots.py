"""Plots as SVG, written by hand: bars and lines that read well on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.value { font-size: 11px; }
.axis { stroke: #8c959f; }
.c0 { fill: #0969da; } .c1 { fill: #54aeff; } .c2 { fill: #0a3069; } .c3 { fill: #bc4c00; }
.c4 { fill: #8250df; } .c5 { fill: #1a7f37; } .c6 { fill: #9a6700; } .c7 { fill: #6e7781; }
.line { fill: none; stroke: #0969da; stroke-width: 2; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } }
</style>"""

_WIDTH = 860
_LEFT = 250
_RIGHT = 110


Bar = tuple[str, float | None, str]
"""The series it belongs to, its value, and the text beside it."""


def bar_groups(
    title: str, series: Sequence[str], groups: Sequence[tuple[str, Sequence[Bar]]]
) -> str:
    """Draw groups of horizontal bars: (label, bars). The order of the series gives the colours.

    Each group has its own scale, its longest bar filling the width.
    """
    present = {name for _, bars in groups for name, _, _ in bars}
    parts: list[str] = [_text(10, 22, title, "title"), *_legend(series, present)]
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


Points = Sequence[tuple[float, float]]


def bands(title: str, x_label: str, series: Sequence[tuple[str, Points]]) -> str:
    """Draw a line in a band of its own for each series: (label, points), from 0 upwards."""
    height, left = 60, 130
    width = _WIDTH - left - _RIGHT - 30
    x_max = max((x for _, points in series for x, _ in points), default=1.0) or 1.0
    parts = [_text(10, 22, title, "title")]
    bottom = 40.0
    for label, points in series:
        bottom += height + 14
        largest = max(y for _, y in points)
        places = " ".join(
            f"{left + x / x_max * width:.1f},{bottom - y / (largest or 1.0) * height:.1f}"
            for x, y in points
        )
        parts.append(_text(10, bottom - height / 2, label))
        parts.append(f'<polyline class="line" points="{places}"/>')
        ends = f'x1="{left}" y1="{bottom}" x2="{left + width}" y2="{bottom}"'
        parts.append(f'<line class="axis" {ends}/>')
        parts.append(_text(left + width + 8, bottom - height + 8, f"at most {largest:,.1f}"))
        parts.append(_text(left + width + 8, bottom - 4, f"at last {points[-1][1]:,.1f}"))
    parts.append(_text(left, bottom + 18, f"0 to {x_max:,.0f} {x_label}", "value"))
    return _document(bottom + 30, title, parts)


def _legend(series: Sequence[str], present: set[str]) -> list[str]:
    parts: list[str] = []
    x = 10.0
    for number, name in enumerate(series):
        if name not in present:
            continue
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
