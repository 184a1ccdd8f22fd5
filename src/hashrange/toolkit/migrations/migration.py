"""A migration from one design to another: structure first, then items, then a check.

    migration = Migration(before, after, client)
    print(*migration.plan(), sep="\\n")
    migration.apply()                    # tables, indexes, TTL, streams: additive changes only
    migration.backfill("order").run()    # index keys and required attributes of an entity
    migration.verify()

`apply` refuses a migration with destructive changes. Removals (of an index, say) are made only if
asked for, after everything else, because they cannot be undone quickly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, final

from hashrange.toolkit.bound import BoundDesign, create_tables, wait_until_active
from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.plans import Call, Plan
from hashrange.toolkit.client.retries import attempt
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.provisioning import create_table_document, settings_calls
from hashrange.toolkit.errors import MigrationError
from hashrange.toolkit.execution.executor import Binding, Executor
from hashrange.toolkit.execution.items import entity_of, fields_of_item, index_keys
from hashrange.toolkit.migrations.backfill import Backfill, BackfillOptions
from hashrange.toolkit.migrations.differences import Difference, differences

_NO_BINDING = Binding()
_DEFAULTS = BackfillOptions()
_NO_VALUES: Mapping[str, Any] = {}


@final
class Migration:
    """Carries out the differences between two designs."""

    def __init__(
        self,
        before: Design,
        after: Design,
        client: Any,
        *,
        binding: Binding = _NO_BINDING,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._after = after
        self._executor = Executor(after, binding)
        self._driver = client if isinstance(client, SyncDriver) else SyncDriver(client, sleep=sleep)
        self._sleep = sleep
        self._differences = differences(before, after)

    def plan(self) -> tuple[Difference, ...]:
        """Return the differences, in the order to carry them out."""
        return self._differences

    def apply(self, *, removals: bool = False) -> tuple[Difference, ...]:
        """Make the structural changes; return those that were made."""
        destructive = [str(each) for each in self._differences if each.kind == "destructive"]
        if destructive:
            raise MigrationError("\n".join(destructive))
        kinds = {"additive", "removal"} if removals else {"additive"}
        chosen = [
            each
            for each in self._differences
            if each.kind in kinds and each.action not in ("none", "backfill")
        ]
        if any(each.action == "create_table" for each in chosen):
            self._driver.run(create_tables(self._executor))
        for each in chosen:
            self._driver.run(self._change(each))
        return tuple(chosen)

    def roll_back(self, applied: tuple[Difference, ...]) -> None:
        """Remove the indexes, TTL and streams that were added; new tables stay as they are."""
        for each in reversed(applied):
            if each.action == "add_index":
                table, index = _names(each)
                deletion = [{"Delete": {"IndexName": index}}]
                self._driver.run(self._update(table, GlobalSecondaryIndexUpdates=deletion))
            elif each.action == "set_stream" and each.kind == "additive":
                table, _ = _names(each)
                off = {"StreamEnabled": False}
                self._driver.run(self._update(table, StreamSpecification=off))
            elif each.action == "set_ttl" and each.kind == "additive":
                table, _ = _names(each)
                self._driver.run(self._set_ttl(table, is_enabled=False))

    def backfill(
        self,
        entity: str,
        defaults: Mapping[str, Any] = _NO_VALUES,
        *,
        options: BackfillOptions = _DEFAULTS,
    ) -> Backfill:
        """Return the back-fill that gives the items of an entity their index keys and defaults."""
        target = self._after.entity(entity)
        table = self._after.table(target.table)

        def change(item: dict[str, Any]) -> dict[str, Any] | None:
            found = entity_of(self._after, table, item)
            if found is None or found.name != entity:
                return None
            complete = {**{n: v for n, v in defaults.items() if n not in item}, **item}
            fields = fields_of_item(target, table, complete)
            return {**complete, **index_keys(target, table, fields)}

        name = self._executor.name_of(table)
        return Backfill(self._driver, name, change, options=options, sleep=self._sleep)

    def verify(self, defaults: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Check that structure and items are as the design says; MigrationError if not."""
        for table in self._after.tables:
            name = self._executor.name_of(table)
            call = Call("describe_table", {"TableName": name})
            found = self._driver.run(attempt(call, self._executor.binding.policy))["Table"]
            present = {each["IndexName"] for each in found.get("GlobalSecondaryIndexes", [])}
            wanted = {index.name for index in table.indexes if index.kind == "global"}
            if wanted - present:
                raise MigrationError(f"{name} lacks {', '.join(sorted(wanted - present))}")
        entities = {
            each.subject.split(":")[1].split(".")[0]
            for each in self._differences
            if each.action == "backfill"
        }
        for entity in sorted(entities):
            self.backfill(entity, (defaults or {}).get(entity, _NO_VALUES)).verify()

    def bound(self) -> BoundDesign:
        """Return the new design, bound to the same service."""
        return BoundDesign(self._after, self._driver, self._executor.binding)

    def _change(self, difference: Difference) -> Plan[None]:
        table, index = _names(difference)
        if difference.action == "add_index":
            document = create_table_document(self._after.table(table))
            (creation,) = (
                each for each in document["GlobalSecondaryIndexes"] if each["IndexName"] == index
            )
            yield from self._update(
                table,
                AttributeDefinitions=document["AttributeDefinitions"],
                GlobalSecondaryIndexUpdates=[{"Create": creation}],
            )
        elif difference.action == "remove_index":
            deletion = [{"Delete": {"IndexName": index}}]
            yield from self._update(table, GlobalSecondaryIndexUpdates=deletion)
        elif difference.action == "set_stream":
            view = self._after.table(table).stream
            stream = (
                {"StreamEnabled": True, "StreamViewType": view}
                if view
                else {"StreamEnabled": False}
            )
            yield from self._update(table, StreamSpecification=stream)
        elif difference.action == "set_ttl":
            yield from self._set_ttl(table, is_enabled=bool(self._after.table(table).ttl))

    def _update(self, table: str, **parameters: Any) -> Plan[None]:
        name = self._executor.name_of(self._after.table(table))
        policy = self._executor.binding.policy
        call = Call("update_table", {"TableName": name, **parameters}, repeatable=False)
        yield from attempt(call, policy)
        yield from wait_until_active(name, policy)

    def _set_ttl(self, table: str, *, is_enabled: bool) -> Plan[None]:
        schema = self._after.table(table)
        name = self._executor.name_of(schema)
        policy = self._executor.binding.policy
        if is_enabled:
            only_ttl = replace(schema, point_in_time_recovery=False)
            for method, parameters in settings_calls(only_ttl, name=name):
                yield from attempt(Call(method, parameters), policy)
            return
        described = yield from attempt(Call("describe_time_to_live", {"TableName": name}), policy)
        attribute = described["TimeToLiveDescription"].get("AttributeName")
        if attribute:
            off = {"Enabled": False, "AttributeName": attribute}
            parameters = {"TableName": name, "TimeToLiveSpecification": off}
            yield from attempt(Call("update_time_to_live", parameters), policy)


def _names(difference: Difference) -> tuple[str, str]:
    """Return table and index of a subject; the index of a table is an empty text."""
    name = difference.subject.split(":", 1)[1]
    if not difference.subject.startswith("index:"):
        return name, ""
    table, index = name.rsplit(".", 1)
    return table, index
