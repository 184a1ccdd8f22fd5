"""Counts which keys are accessed and throttled, for tables with contributor insights.

An access weighs its read units and three times its write units. The units of a request with several
keys of a table are spread evenly over these keys. A Query counts for its partition key. Scans and
PartiQL count for nothing, as on AWS; neither do the writes that an index takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, final

from hashrange.api.access.item_keys import key_text
from hashrange.api.scope import RequestScope
from hashrange.errors import ClientError
from hashrange.expressions.key_conditions import prepare_key_condition
from hashrange.limits import INSIGHT_KEY_CHARACTERS_MAX
from hashrange.metrics.insights import InsightStore, RuleMinute
from hashrange.metrics.top_keys import TopKeys
from hashrange.model.insights import ACCESSED
from hashrange.model.schema import KeyPart, Table

_WRITE_WEIGHT: Final = 3.0
_SINGLE: Final = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem"})
_NAMES: Final = "ExpressionAttributeNames"

Item = dict[str, Any]


@final
class KeyAccess:
    """The summaries of this process that are not written yet."""

    def __init__(self, store: InsightStore) -> None:
        self._store = store
        self._pending: dict[RuleMinute, TopKeys] = {}

    def note(self, scope: RequestScope, table: Table, minute: int) -> None:
        """Count the keys of a request to a table with insights."""
        index, keys = _keys_of(scope, table)
        if not keys:
            return
        mode = table.insights.get(index)
        if mode is None:
            return
        wanted = index or None
        weight = sum(
            reads + _WRITE_WEIGHT * writes
            for name, arm, reads, writes in scope.consumed
            if name == table.name and (arm == wanted or (not index and arm is None))
        )
        throttled = sum(
            name == table.name and (arm or "") == index for name, arm, _ in scope.throttles
        )
        for partition, sort in keys:
            if mode == ACCESSED and weight:
                self._add(table, index, "C", partition, sort, weight / len(keys), minute)
            if throttled:
                self._add(table, index, "T", partition, sort, throttled / len(keys), minute)

    def _add(
        self,
        table: Table,
        index: str,
        kind: str,
        partition: tuple[str, ...],
        sort: tuple[str, ...] | None,
        weight: float,
        minute: int,
    ) -> None:
        resource = f"{table.name}\x01{index}"
        self._summary(table, f"PK{kind}\x01{resource}", minute).add(partition, weight)
        if sort is not None:
            self._summary(table, f"SK{kind}\x01{resource}", minute).add(partition + sort, weight)

    def _summary(self, table: Table, rule: str, minute: int) -> TopKeys:
        key = (table.account, table.region, rule, minute)
        found = self._pending.get(key)
        if found is None:
            found = self._pending[key] = TopKeys()
        return found

    async def flush(self) -> None:
        """Write what is pending."""
        if self._pending:
            pending, self._pending = self._pending, {}
            await self._store.add(pending)


Keys = list[tuple[tuple[str, ...], tuple[str, ...] | None]]
"""Values of the partition key and, if they are known, of the sort key."""


def _keys_of(scope: RequestScope, table: Table) -> tuple[str, Keys]:
    """Return the index that a request reads, empty for the table, and the keys it names."""
    request, operation = scope.parameters, scope.operation
    if operation == "Query":
        return request.get("IndexName") or "", _query_keys(request, table)
    items = (
        [request.get("Key") or request.get("Item") or {}]
        if operation in _SINGLE
        else list(_members(request, operation, table))
    )
    return "", [found for item in items if (found := _item_key(table, item)) is not None]


def _members(request: Item, operation: str, table: Table) -> Iterator[Item]:
    """Return the keys and items that a batch or transaction names of a table."""
    names = (table.name, table.arn)
    if operation in ("BatchGetItem", "BatchWriteItem"):
        for name, part in (request.get("RequestItems") or {}).items():
            if name in names:
                if operation == "BatchGetItem":
                    yield from part.get("Keys") or ()
                else:
                    for member in part:
                        put, delete = member.get("PutRequest"), member.get("DeleteRequest")
                        yield put["Item"] if put else delete["Key"]
    elif operation in ("TransactGetItems", "TransactWriteItems"):
        for member in request.get("TransactItems") or ():
            for action in member.values():
                if action.get("TableName") in names:
                    yield action.get("Key") or action.get("Item") or {}


def _item_key(table: Table, item: Item) -> tuple[tuple[str, ...], tuple[str, ...] | None] | None:
    partition = _text(item, table.partition)
    if partition is None:
        return None
    sort = None if table.sort is None else _text(item, table.sort)
    return (partition,), None if sort is None else (sort,)


def _text(item: Item, part: KeyPart) -> str | None:
    value = item.get(part.name)
    if not isinstance(value, dict) or part.type not in value:
        return None
    return key_text(value)[:INSIGHT_KEY_CHARACTERS_MAX]


def _query_keys(request: Item, table: Table) -> Keys:
    """Return the partition key that a query selects."""
    index = table.by_name.get(request.get("IndexName") or "")
    parts = (table.partition,) if index is None else index.partition
    item: Item = {}
    if "KeyConditionExpression" in request:
        names = tuple((request.get(_NAMES) or {}).items())
        try:
            prepared = prepare_key_condition(request["KeyConditionExpression"], names)
            bound = prepared.bind(request.get("ExpressionAttributeValues") or {})
        except ClientError:
            return []
        item = {part.name: bound.equal_to(part.name) for part in parts}
    else:
        for name, condition in (request.get("KeyConditions") or {}).items():
            item[name] = (condition.get("AttributeValueList") or [None])[0]
    texts = [_text(item, part) for part in parts]
    if any(text is None for text in texts):
        return []
    return [(tuple(text for text in texts if text is not None), None)]
