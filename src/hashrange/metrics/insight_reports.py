"""Reads contributor insights: the rules that there are, and which keys are the heaviest."""

from __future__ import annotations

from typing import Final, NamedTuple, final

from hashrange.limits import TABLES_PER_ACCOUNT_MAX
from hashrange.metrics.buffer import MetricBuffer
from hashrange.metrics.insights import InsightStore
from hashrange.metrics.store import MINUTE
from hashrange.metrics.top_keys import Key, TopKeys
from hashrange.model.insights import has_sort, key_names, kinds_of, rule_name
from hashrange.storage.catalog import Catalog

_MERGED_KEYS_MAX: Final = 5000


class Rule(NamedTuple):
    """A rule: its name, what it counts, the names of the keys, and since when there is one."""

    name: str
    kind: str
    table: str
    index_name: str
    labels: list[str]
    since: float


class Report(NamedTuple):
    """The heaviest keys over some time, with their weights by period."""

    total: float
    unique: int
    contributors: list[tuple[Key, float, dict[int, float]]]
    periods: dict[int, TopKeys]


@final
class InsightReports:
    """Rules and reports of all tables."""

    def __init__(self, store: InsightStore, buffer: MetricBuffer, catalog: Catalog) -> None:
        self._store = store
        self._buffer = buffer
        self._catalog = catalog

    async def rules(self, world: tuple[str, str]) -> list[Rule]:
        """Return the rules of an account's region."""
        names, _ = await self._catalog.names(*world, after=None, names_max=TABLES_PER_ACCOUNT_MAX)
        found: list[Rule] = []
        for name in names:
            record = await self._catalog.find(*world, name)
            for index, setting in record.insights.items() if record is not None else ():
                assert record is not None
                if not setting["is_enabled"] or (index and record.index(index) is None):
                    continue
                is_sorted = has_sort(record, index)
                labels = key_names(record, index)
                for kind in kinds_of(setting["mode"], has_sort=is_sorted):
                    shown = labels if kind[0] == "S" or not is_sorted else labels[:-1]
                    rule = rule_name(kind, name, index, setting)
                    found.append(Rule(rule, kind, name, index, shown, setting["enabled_at"]))
        return found

    async def report(
        self, world: tuple[str, str], rule: Rule, span: tuple[int, int], period: int, count: int
    ) -> Report:
        """Return the heaviest keys of a rule from one time to another."""
        await self._buffer.flush()
        start = max(span[0], int(rule.since) - int(rule.since) % MINUTE)
        name = f"{rule.kind}\x01{rule.table}\x01{rule.index_name}"
        minutes = await self._store.read(world, name, start, span[1])
        whole = TopKeys(_MERGED_KEYS_MAX)
        periods: dict[int, TopKeys] = {}
        for time, summary in minutes.items():
            whole.merge(summary)
            begin = time - (time - span[0]) % period
            periods.setdefault(begin, TopKeys(_MERGED_KEYS_MAX)).merge(summary)
        contributors = [
            (
                key,
                weight,
                {t: s.weights[key][0] for t, s in sorted(periods.items()) if key in s.weights},
            )
            for key, weight in whole.heaviest(count)
        ]
        return Report(whole.total, len(whole.weights), contributors, periods)
