"""Statistics of samples, by CloudWatch's names: Sum, p99, tm90, PR(0:100) and the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from hashrange.metrics.samples import Samples, Weighted

PLAIN: Final = ("SampleCount", "Average", "Sum", "Minimum", "Maximum")

_NUMBER: Final = r"(\d{1,3}(?:\.\d{0,10})?)"
_PERCENTILE: Final = re.compile(rf"p{_NUMBER}")
_SHORT: Final = re.compile(rf"(tm|wm|tc|ts){_NUMBER}")
_RANGE: Final = re.compile(r"(TM|WM|TC|TS|PR)\((-?[\d.]*)(%?):(-?[\d.]*)(%?)\)")

Statistic = Callable[[Samples], float | None]
"""Returns the statistic of samples, None if it cannot be known of them."""


def _percentile(weighted: Weighted, share: float) -> float:
    """Return the value below which a share of the samples is, between two by interpolation."""
    total = sum(count for _, count in weighted)
    rank = share * (total - 1)
    passed = 0.0
    for position, (value, count) in enumerate(weighted):
        passed += count
        if rank <= passed - 1:
            return value
        if rank < passed and position + 1 < len(weighted):
            following = weighted[position + 1][0]
            return value + (following - value) * (rank - (passed - 1))
    return weighted[-1][0]


def _cut(weighted: Weighted, low: float, high: float) -> Weighted:
    """Return the samples between two shares of all, parts of a bucket included."""
    total = sum(count for _, count in weighted)
    begin, end = low * total, high * total
    kept: Weighted = []
    passed = 0.0
    for value, count in weighted:
        part = min(passed + count, end) - max(passed, begin)
        if part > 0:
            kept.append((value, part))
        passed += count
    return kept


def _of_cut(kind: str, kept: Weighted, all_of_them: Weighted) -> float | None:
    if kind == "tc":
        return sum(count for _, count in kept)
    if kind == "ts":
        return sum(value * count for value, count in kept)
    if not kept:
        return None
    if kind == "tm":
        return sum(value * count for value, count in kept) / sum(count for _, count in kept)
    low, high = kept[0][0], kept[-1][0]
    total = sum(count for _, count in all_of_them)
    return sum(min(max(value, low), high) * count for value, count in all_of_them) / total


def _trimmed(kind: str, low: float, high: float) -> Statistic:
    def compute(samples: Samples) -> float | None:
        weighted = samples.weighted()
        if not weighted:
            return None
        return _of_cut(kind, _cut(weighted, low, high), weighted)

    return compute


def _bounded(kind: str, low: float, high: float) -> Statistic:
    """Return a statistic of the samples whose values are in (low, high]."""

    def compute(samples: Samples) -> float | None:
        weighted = samples.weighted()
        if not weighted:
            return None
        kept = [pair for pair in weighted if low < pair[0] <= high]
        if kind == "pr":
            total = sum(count for _, count in weighted)
            return 100.0 * sum(count for _, count in kept) / total
        return _of_cut(kind, kept, weighted)

    return compute


def _percentile_statistic(share: float) -> Statistic:
    def compute(samples: Samples) -> float | None:
        weighted = samples.weighted()
        return _percentile(weighted, share) if weighted else None

    return compute


def percentile_of(name: str) -> float | None:
    """Return the percentile that a statistic is, as a share of 1; None for other statistics."""
    found = _PERCENTILE.fullmatch(name)
    return float(found[1]) / 100 if found is not None and float(found[1]) <= 100 else None


_PLAIN: Final[dict[str, Statistic]] = {
    "SampleCount": lambda samples: samples.count,
    "Average": lambda samples: samples.average,
    "Sum": lambda samples: samples.sum,
    "Minimum": lambda samples: samples.minimum,
    "Maximum": lambda samples: samples.maximum,
    "IQM": _trimmed("tm", 0.25, 0.75),
}


def find_statistic(name: str) -> Statistic | None:
    """Return the statistic of a name, None if there is none."""
    if name in _PLAIN:
        return _PLAIN[name]
    share = percentile_of(name)
    if share is not None:
        return _percentile_statistic(share)
    short = _SHORT.fullmatch(name)
    if short is not None and float(short[2]) <= 100:
        share = float(short[2]) / 100
        if short[1] in ("tc", "ts", "tm"):
            return _trimmed(short[1], 0.0, share)
        return _trimmed("wm", 0.0, share)
    ranged = _RANGE.fullmatch(name)
    return None if ranged is None else _range_statistic(*ranged.groups())


def _range_statistic(
    kind: str, low: str, low_mark: str, high: str, high_mark: str
) -> Statistic | None:
    """Return a statistic like TM(10%:90%), of shares, or TM(10:900), of values."""
    marks = {mark for bound, mark in ((low, low_mark), (high, high_mark)) if bound}
    if len(marks) != 1:
        return None
    try:
        if marks == {"%"}:
            shares = float(low or 0) / 100, float(high or 100) / 100
            is_sound = 0 <= shares[0] < shares[1] <= 1 and kind != "PR"
            return _trimmed(kind.lower(), *shares) if is_sound else None
        bounds = float(low or "-inf"), float(high or "inf")
    except ValueError:
        return None
    return _bounded(kind.lower(), *bounds) if bounds[0] < bounds[1] else None
