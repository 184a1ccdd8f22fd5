"""Back-fills: every item of a table is looked at, and changed where a function says so.

    backfill = Backfill(client, "Shop", change, options=BackfillOptions(state="state.json"))
    print(backfill.estimate())       # reads the description only
    backfill.run(dry_run=True)       # reads everything, writes nothing
    backfill.run()                   # resumes where it was interrupted
    backfill.verify()                # no item is left that would change
    backfill.roll_back()             # restores what was changed, from the journal

`change` takes an item and returns what it should be, or None to leave it alone. It must be
idempotent: the changed item needs no further change. Items are written under the condition that the
attributes that change are still what was read, so that concurrent writes are never lost: an
item that changed meanwhile is read and changed again. With a `journal`, the attributes as they were
are noted, before each write, for the roll-back.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.expressions import Expressions
from hashrange.toolkit.client.operations import TableContext, scan_fetch
from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy
from hashrange.toolkit.client.tables import describe_keys
from hashrange.toolkit.errors import ConditionFailed, MigrationError
from hashrange.toolkit.item_sizes import item_bytes, write_units
from hashrange.toolkit.migrations.estimates import Estimate, Prices, estimate_of
from hashrange.toolkit.migrations.journal import Journal, decode_key, encode_key
from hashrange.toolkit.values import Item, Wire, from_wire_item, to_wire_item

Change = Callable[[dict[str, Any]], Mapping[str, Any] | None]
_CONFLICTS_MAX: Final = 10


@final
@dataclass(frozen=True, slots=True)
class BackfillOptions:
    """How a back-fill works.

    `writes_per_second` bounds the write units it uses. `page` is the number of items read at once.
    `state` is the file that remembers the position, `journal` the file for the roll-back; without
    them, a back-fill starts over and cannot be rolled back.
    """

    writes_per_second: float = 100.0
    page: int = 200
    state: str | Path | None = None
    journal: str | Path | None = None
    prices: Prices = Prices()  # noqa: RUF009 - immutable
    policy: RetryPolicy = DEFAULT_POLICY


@final
@dataclass(frozen=True, slots=True)
class BackfillReport:
    """What a run has done so far."""

    examined: int = 0
    changed: int = 0
    unchanged: int = 0
    conflicts: int = 0
    write_units: int = 0
    read_units: float = 0.0
    is_done: bool = False


_DEFAULTS: Final = BackfillOptions()


@final
class Backfill:
    """Changes the items of one table."""

    def __init__(
        self,
        client: Any,
        table: str,
        change: Change,
        *,
        options: BackfillOptions = _DEFAULTS,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._driver = client if isinstance(client, SyncDriver) else SyncDriver(client)
        self._context = TableContext(table, options.policy)
        self._change = change
        self._options = options
        self._sleep = sleep
        self._clock = clock
        self._journal = Journal(options.journal) if options.journal else None
        self._key_names: tuple[str, ...] = ()

    def estimate(self, changed_share: float = 1.0) -> Estimate:
        """Return units, time and money of a full run, from the table's own counts."""
        answer = self._driver.run(self._context.send("describe_table", {}))
        options = self._options
        return estimate_of(
            answer["Table"], changed_share, options.writes_per_second, options.prices
        )

    def run(
        self,
        *,
        dry_run: bool = False,
        on_progress: Callable[[BackfillReport], None] | None = None,
    ) -> BackfillReport:
        """Go through the table; a dry run counts what would change, and leaves no state."""
        position, report = (None, BackfillReport()) if dry_run else self._load_state()
        if report.is_done:
            return report
        started, units_before = self._clock(), report.write_units
        fetch = scan_fetch(self._context, {"consistent": True})
        while True:
            page = self._driver.run(fetch(position, self._options.page))
            report = replace(report, read_units=report.read_units + page.read_units)
            for item in page.items:
                report = self._handle(item, report, dry_run=dry_run)
                if not dry_run:
                    self._slow_down(report.write_units - units_before, started)
            position = page.next
            report = replace(report, is_done=position is None)
            if not dry_run:
                self._save_state(position, report)
            if on_progress:
                on_progress(report)
            if position is None:
                return report

    def verify(self, *, raises: bool = True) -> int:
        """Return how many items would still change; MigrationError if there are any."""
        left = self.run(dry_run=True).changed
        if left and raises:
            raise MigrationError(f"{left} items of {self._context.table} are not migrated")
        return left

    def roll_back(self) -> int:
        """Restore the attributes in the journal, newest first; return how many items.

        An item that was changed again since the back-fill keeps the attributes that changed.
        """
        if self._journal is None:
            raise MigrationError("this back-fill has no journal, so it cannot be rolled back")
        restored = 0
        for key, before, after in self._journal.backwards():
            restored += self._driver.run(self._restore(key, before, after))
        self._journal.clear()
        self._forget_state()
        return restored

    def _handle(self, item: Item, report: BackfillReport, *, dry_run: bool) -> BackfillReport:
        after = self._wanted(item)
        report = replace(report, examined=report.examined + 1)
        if after is None:
            return replace(report, unchanged=report.unchanged + 1)
        units = write_units(max(item_bytes(item), item_bytes(after)))
        if dry_run:
            return replace(
                report, changed=report.changed + 1, write_units=report.write_units + units
            )
        conflicts, is_changed = self._driver.run(self._write(item, after))
        return replace(
            report,
            changed=report.changed + is_changed,
            unchanged=report.unchanged + (not is_changed),
            conflicts=report.conflicts + conflicts,
            write_units=report.write_units + units * (1 + conflicts),
        )

    def _wanted(self, item: Item) -> Item | None:
        """Return what an item should be in API form, or None if it is right."""
        wanted = self._change(from_wire_item(item))
        if wanted is None:
            return None
        after = to_wire_item(wanted)
        if from_wire_item(after) == from_wire_item(item):
            return None
        if any(after.get(name) != item[name] for name in self._keys()):
            raise MigrationError("a back-fill cannot change the primary key of an item")
        return after

    def _keys(self) -> tuple[str, ...]:
        if not self._key_names:
            self._key_names = self._driver.run(describe_keys(self._context))
        return self._key_names

    def _write(self, item: Item, after: Item) -> Plan[tuple[int, int]]:
        """Write what differs; return how often the item changed meanwhile, and 1 if written."""
        key = {name: item[name] for name in self._keys()}
        for conflicts in range(_CONFLICTS_MAX):
            if self._journal:
                self._journal.note(key, *_differing(item, after))
            try:
                yield from _replace_attributes(self._context, key, item, after)
                return conflicts, 1
            except ConditionFailed:
                if self._journal:
                    self._journal.void()
                answer = yield from self._context.send(
                    "get_item", {"Key": key, "ConsistentRead": True}
                )
                if "Item" not in answer:
                    return conflicts + 1, 0
                item = answer["Item"]
                again = self._wanted(item)
                if again is None:
                    return conflicts + 1, 0
                after = again
        raise MigrationError(f"{from_wire_item(key)} changed {_CONFLICTS_MAX} times meanwhile")

    def _restore(
        self, key: Item, before: Mapping[str, Wire], after: Mapping[str, Wire]
    ) -> Plan[int]:
        try:
            yield from _replace_attributes(self._context, key, {**key, **after}, {**key, **before})
        except ConditionFailed:
            return 0
        return 1

    def _slow_down(self, units: int, started: float) -> None:
        due = started + units / self._options.writes_per_second
        ahead = due - self._clock()
        if ahead > 0:
            self._sleep(ahead)

    def _load_state(self) -> tuple[Item | None, BackfillReport]:
        if self._options.state is None or not Path(self._options.state).exists():
            return None, BackfillReport()
        state = json.loads(Path(self._options.state).read_text())
        if state["table"] != self._context.table:
            raise MigrationError(f"the state file belongs to table {state['table']}")
        position = decode_key(state["position"]) if state["position"] else None
        return position, BackfillReport(**state["report"])

    def _save_state(self, position: Item | None, report: BackfillReport) -> None:
        if self._options.state is None:
            return
        path = Path(self._options.state)
        state = {
            "table": self._context.table,
            "position": encode_key(position) if position else None,
            "report": asdict(report),
        }
        temporary = path.with_suffix(".new")
        with temporary.open("w") as file:
            json.dump(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def _forget_state(self) -> None:
        if self._options.state is not None:
            Path(self._options.state).unlink(missing_ok=True)


def _differing(before: Item, after: Item) -> tuple[dict[str, Wire], dict[str, Wire]]:
    """Return the attributes that differ, as they were and as they will be."""
    names = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    return (
        {name: before[name] for name in names if name in before},
        {name: after[name] for name in names if name in after},
    )


def _replace_attributes(context: TableContext, key: Item, before: Item, after: Item) -> Plan[None]:
    """Set and remove the attributes that differ, if they are still as they were."""
    was, becomes = _differing(before, after)
    expressions = Expressions()
    conditions = list(_conditions(expressions, key, was, becomes))
    sets = [f"{expressions.name(n)} = {expressions.wire(v)}" for n, v in becomes.items()]
    removed = [expressions.name(name) for name in was if name not in becomes]
    clauses = [
        f"SET {', '.join(sets)}" if sets else "",
        f"REMOVE {', '.join(removed)}" if removed else "",
    ]
    parameters = {
        "Key": key,
        "UpdateExpression": " ".join(clause for clause in clauses if clause),
        "ConditionExpression": " AND ".join(conditions),
        **expressions.parameters(),
    }
    yield from context.send("update_item", parameters)


def _conditions(
    expressions: Expressions, key: Item, was: Mapping[str, Wire], becomes: Mapping[str, Wire]
) -> Iterator[str]:
    yield f"attribute_exists({expressions.name(next(iter(key)))})"
    for name, value in was.items():
        yield f"{expressions.name(name)} = {expressions.wire(value)}"
    for name in becomes.keys() - was.keys():
        yield f"attribute_not_exists({expressions.name(name)})"
