"""A simulation as text, with a small chart per store, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hashrange.toolkit.simulate.run import KEYS_SHOWN, Scenario, StoreRun

_BARS: Final = " ▁▂▃▄▅▆▇█"
_WIDTH_MAX: Final = 60
_MILLI: Final = 1000


def text_of(name: str, runs: Mapping[str, StoreRun], scenario: Scenario) -> str:
    """Return what happened as text."""
    return "\n".join(_lines(name, runs, scenario)) + "\n"


def _lines(name: str, runs: Mapping[str, StoreRun], scenario: Scenario) -> Iterator[str]:
    factor = "" if scenario.times == 1 else f", {scenario.times:g} times the declared rates"
    yield f"{name}: {scenario.minutes} minutes, shape {scenario.shape}{factor}"
    for run in runs.values():
        demanded = [minute.demanded / 60 for minute in run.minutes]
        lost = [(minute.by_partition + minute.by_store) / 60 for minute in run.minutes]
        yield ""
        yield (
            f"{run.name}: {run.throttled_share:.1%} throttled, partitions "
            f"{run.partitions_before} → {len(run.store.partitions)}"
        )
        yield f"  asked for  {_chart(demanded)}  at most {max(demanded):,.0f} units per second"
        if run.throttled:
            yield f"  throttled  {_chart(lost, max(demanded))}  at most {max(lost):,.0f}"
            by_partition = sum(minute.by_partition for minute in run.minutes)
            yield (
                f"  by a partition's limit {by_partition / run.throttled:.0%}, "
                f"by the capacity of {run.name} {1 - by_partition / run.throttled:.0%}"
            )
            yield from _hot(run)
        for split in run.splits[:KEYS_SHOWN]:
            moment = f"{split.at / 60:.0f} min"
            yield f"  split for heat after {moment}, now {split.partitions} partitions"
        if len(run.splits) > KEYS_SHOWN:
            yield f"  and {len(run.splits) - KEYS_SHOWN} more splits"


def _hot(run: StoreRun) -> Iterator[str]:
    for pattern, units in run.throttled_patterns.most_common(3):
        yield f"  pattern {pattern}: {units / run.patterns[pattern]:.1%} throttled"
    for key, units in run.throttled_keys.most_common(3):
        share = run.keys[key] / _MILLI / run.demanded
        if share >= 0.01:
            lost = units / run.keys[key]
            yield f"  key {key!r}: {share:.0%} of the traffic, {lost:.0%} throttled"


def _chart(values: list[float], top: float | None = None) -> str:
    """Return a line of bars, one per minute or per group of minutes."""
    size = -(-len(values) // _WIDTH_MAX)
    groups = [max(values[at : at + size]) for at in range(0, len(values), size)]
    top = top or max(groups) or 1.0
    return "".join(_BARS[min(8, -(-round(each / top * 8000) // 1000))] for each in groups)


def json_of(name: str, runs: Mapping[str, StoreRun], scenario: Scenario) -> str:
    """Return what happened as a JSON document."""
    document = {
        "design": name,
        "shape": scenario.shape,
        "minutes": scenario.minutes,
        "times": scenario.times,
        "stores": {run.name: _document(run) for run in runs.values()},
    }
    return json.dumps(document, indent=2) + "\n"


def _document(run: StoreRun) -> dict[str, Any]:
    return {
        "throttled_share": run.throttled_share,
        "partitions": {"before": run.partitions_before, "after": len(run.store.partitions)},
        "splits": [{"seconds": s.at, "partitions": s.partitions} for s in run.splits],
        "minutes": [
            {
                "demanded": minute.demanded,
                "throttled_by_partition": minute.by_partition,
                "throttled_by_store": minute.by_store,
            }
            for minute in run.minutes
        ],
        "hottest_keys": [
            {
                "key": key,
                "share": units / _MILLI / run.demanded,
                "throttled": run.throttled_keys[key] / units,
            }
            for key, units in run.keys.most_common(KEYS_SHOWN)
        ],
    }
