"""The style sheet of the report: light and dark, printable, no outside resource."""

from __future__ import annotations

from typing import Final

HUES: Final = (212, 152, 28, 322, 262, 186, 48, 2, 98, 236)
"""A hue for each entity, in order; further entities begin again."""

STYLE: Final = """
:root { --paper: #fbfaf7; --card: #ffffff; --ink: #1c2230; --soft: #667085; --line: #e4e1d8;
  --accent: #2f5fd0; --error: #c2372e; --warning: #b7791f; --note: #5b6b82; --good: #2e8b57;
  --tint: 94%; --mark: 42%; --shade: #f4f2ec; }
@media (prefers-color-scheme: dark) { :root { --paper: #12151c; --card: #1a1f29; --ink: #e6e9ef;
  --soft: #94a0b4; --line: #2b3240; --accent: #7ea6ff; --error: #ff8078; --warning: #e8b45a;
  --note: #94a0b4; --good: #63c394; --tint: 20%; --mark: 68%; --shade: #202632; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 "Inter", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 48px 32px 96px; }
header h1 { font-size: 40px; letter-spacing: -0.02em; margin: 0; line-height: 1.1; }
header p { color: var(--soft); font-size: 17px; margin: 10px 0 0; max-width: 70ch; }
nav { display: flex; gap: 4px 18px; flex-wrap: wrap; margin: 22px 0 0; padding: 12px 0;
  border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); font-size: 14px; }
nav a { color: var(--soft); text-decoration: none; } nav a:hover { color: var(--accent); }
section { margin-top: 56px; } h2 { font-size: 24px; letter-spacing: -0.01em; margin: 0 0 4px; }
h3 { font-size: 16px; margin: 28px 0 10px; } .lead { color: var(--soft); margin: 0 0 18px;
  max-width: 78ch; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin-top: 28px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 14px 18px; } .tile b { display: block; font-size: 27px; font-weight: 650;
  letter-spacing: -0.02em; } .tile span { color: var(--soft); font-size: 13px; }
.tile.error b { color: var(--error); } .tile.good b { color: var(--good); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 18px 20px; margin-top: 14px; } .scroll { overflow-x: auto; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 12px; padding: 10px 14px;
  border-bottom: 1px solid var(--line); white-space: nowrap; background: var(--shade); }
td { padding: 8px 14px; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; } td.n, th.n { text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
code, .key { font-family: "JetBrains Mono", "SF Mono", ui-monospace, Menlo, Consolas, monospace;
  font-size: 12.5px; } .key { white-space: nowrap; }
.pk { border-right: 1px solid var(--line); font-weight: 600; background: var(--shade); }
.sk { border-right: 1px solid var(--line); }
.field { color: var(--accent); } .dim { color: var(--soft); }
.attr { display: inline-block; margin: 0 14px 0 0; white-space: nowrap; }
.attr i { font-style: normal; color: var(--soft); font-size: 11px; display: block;
  line-height: 1.3; }
.chip { display: inline-block; border-radius: 999px; padding: 1px 10px; font-size: 12px;
  font-weight: 600; white-space: nowrap; justify-self: start; }
td.hit { text-align: center; } .op { display: inline-block; border-radius: 6px; padding: 2px 9px;
  font-size: 12px; font-weight: 600; } .op.read { background: color-mix(in srgb, var(--accent) 15%,
  transparent); color: var(--accent); } .op.write { background: color-mix(in srgb, var(--good) 16%,
  transparent); color: var(--good); } .op.scan { background: color-mix(in srgb, var(--error) 15%,
  transparent); color: var(--error); } .also { color: var(--soft); font-size: 12px; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); gap: 14px; }
.cards .card { margin: 0; } .wide.cards { grid-template-columns: repeat(auto-fill,
  minmax(520px, 1fr)); } .card h3 { margin: 0 0 10px; }
.matrix th, .matrix td { padding: 8px 9px; } .matrix td:first-child { min-width: 170px; }
.collection-head { font-weight: 600; margin-bottom: 10px; }
.member { display: grid; grid-template-columns: 1fr auto; gap: 2px 12px; margin-top: 10px; }
.bar { grid-column: 1 / -1; height: 8px; border-radius: 4px; background: var(--shade);
  overflow: hidden; } .bar b { display: block; height: 100%; border-radius: 4px; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
svg text.strong { fill: var(--ink); font-weight: 600; } .advised td { font-weight: 650; }
.finding { border-left: 4px solid var(--note); } .finding.error { border-color: var(--error); }
.finding.warning { border-color: var(--warning); } .finding h4 { margin: 0; font-size: 14.5px; }
.finding p { margin: 6px 0 0; color: var(--soft); font-size: 13.5px; max-width: 90ch; }
.finding.error .tag { color: var(--error); } .finding.warning .tag { color: var(--warning); }
.tag { font-size: 12px; font-weight: 700; color: var(--note); margin-right: 8px; }
ul.reasons { margin: 12px 0 0; padding-left: 18px; color: var(--soft); font-size: 13.5px; }
footer { margin-top: 64px; color: var(--soft); font-size: 13px; border-top: 1px solid var(--line);
  padding-top: 16px; }
@media print { main { max-width: none; padding: 0; } section { break-inside: avoid; } }
"""


def entity_style(number: int) -> str:
    """Return the colours of an entity as the style of an element."""
    hue = HUES[number % len(HUES)]
    return f"background: hsl({hue} 70% var(--tint)); color: hsl({hue} 60% var(--mark))"


def entity_colour(number: int) -> str:
    """Return the strong colour of an entity."""
    return f"hsl({HUES[number % len(HUES)]} 58% 52%)"
