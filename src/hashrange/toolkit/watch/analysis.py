"""Adds up a trace: what each pattern does, what nobody declared, hot keys, waste, index use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, final

from hashrange.toolkit.cost.traffic import stores_of
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.watch.matching import Matcher, Target
from hashrange.toolkit.watch.trace import Request

HOT_SHARE: Final = 0.1
HOT_KEYS_SHOWN: Final = 10
WASTE_SHARE: Final = 0.5
KEYS_MAX: Final = 100_000
"""Beyond this many keys, new ones are no longer counted one by one."""


@final
@dataclass(slots=True)
class Usage:
    """What the requests of a pattern, or of undeclared calls of one kind, add up to."""

    requests: int = 0
    throttled: int = 0
    errors: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    examined: int = 0
    returned: int = 0

    def add(self, request: Request) -> None:
        self.requests += 1
        self.throttled += request.is_throttled
        self.errors += bool(request.error) and not request.is_throttled
        units = sum(request.units.values())
        if request.is_read:
            self.read_units += units
        else:
            self.write_units += units
        self.examined += request.examined
        self.returned += request.returned

    @property
    def wasted(self) -> float:
        """The share of the items that were read and then dropped."""
        return 1 - self.returned / self.examined if self.examined else 0.0


Call = tuple[str, Target]
"""An undeclared call: its operation and its target, without the key."""


@final
@dataclass
class Traffic:
    """What a trace says about a design."""

    design: Design
    seconds: float = 0.0
    patterns: dict[str, Usage] = field(default_factory=dict)
    undeclared: dict[Call, Usage] = field(default_factory=dict)
    samples: dict[Call, str] = field(default_factory=dict)
    index_reads: Counter[str] = field(default_factory=Counter)
    index_writes: Counter[str] = field(default_factory=Counter)
    keys: Counter[tuple[str, str]] = field(default_factory=Counter)
    patterns_of_keys: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def rate(self, usage: Usage) -> float:
        """Return the requests per second of a usage."""
        return usage.requests / self.seconds if self.seconds else 0.0

    @property
    def uncalled(self) -> list[str]:
        """Patterns that nobody called."""
        return [each.name for each in self.design.patterns if each.name not in self.patterns]

    @property
    def unused_indexes(self) -> list[str]:
        """Global indexes that nobody read."""
        return [s for s in stores_of(self.design) if "." in s and not self.index_reads[s]]

    @property
    def hot_keys(self) -> list[tuple[str, str, float, str]]:
        """Store, key, share of the requests to the store, and the pattern behind most of them."""
        totals: Counter[str] = Counter()
        for (store, _), count in self.keys.items():
            totals[store] += count
        found = []
        for (store, key), count in self.keys.most_common(HOT_KEYS_SHOWN):
            share = count / totals[store]
            if share >= HOT_SHARE and totals[store] > count:
                pattern = self.patterns_of_keys[(store, key)].most_common(1)[0][0]
                found.append((store, key, share, pattern))
        return found


def analyse(design: Design, requests: Iterable[Request], matcher: Matcher | None = None) -> Traffic:
    """Return what a trace says about a design."""
    matcher = matcher or Matcher(design)
    traffic = Traffic(design)
    first = last = None
    for request in requests:
        first = request.at if first is None else min(first, request.at)
        last = request.at if last is None else max(last, request.at)
        _add(traffic, matcher, request)
    traffic.seconds = (last - first) if first is not None and last is not None else 0.0
    return traffic


def _add(traffic: Traffic, matcher: Matcher, request: Request) -> None:
    pattern = matcher.pattern_of(request)
    target = matcher.target_of(request)
    if pattern is not None:
        traffic.patterns.setdefault(pattern.name, Usage()).add(request)
    else:
        call = (request.operation, Target(target.table, target.index))
        traffic.undeclared.setdefault(call, Usage()).add(request)
        traffic.samples.setdefault(call, target.key)
    counted = traffic.index_reads if request.is_read else traffic.index_writes
    for store, units in request.units.items():
        counted[store] += round(units * 1000)
    if target.key:
        name = f"{target.table}.{target.index}" if target.index else target.table
        key = (name, target.key)
        if key in traffic.keys or len(traffic.keys) < KEYS_MAX:
            traffic.keys[key] += 1
            behind = traffic.patterns_of_keys.setdefault(key, Counter())
            behind[pattern.name if pattern else f"undeclared {request.operation}"] += 1
