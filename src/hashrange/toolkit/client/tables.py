"""The client of one table, blocking: get, put, update, delete, query, scan, batches, transactions.

table = TableClient(boto3.client("dynamodb"), "Application")
table.put({"PK": "USER#123", "SK": "METADATA", "name": "Alice"})
table.update({"PK": "USER#123", "SK": "METADATA"}, set={"status": "active"}, add={"logins": 1})
for order in table.query({"PK": "USER#123", "SK": begins_with("ORDER#")}, newest_first=True):
    ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack, final

from hashrange.toolkit.client import batches, operations, scans
from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.operations import (
    AttributeCodec,
    Attributes,
    Key,
    ReadOptions,
    ScanOptions,
    SegmentOptions,
    TableContext,
    check_options,
)
from hashrange.toolkit.client.pages import Pages, Source
from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy
from hashrange.toolkit.client.scans import Progress
from hashrange.toolkit.client.transactions import Transaction
from hashrange.toolkit.errors import AlreadyExists, ConditionFailed
from hashrange.toolkit.values import from_wire_item

Changes = Mapping[str, Any]
_NOTHING: Changes = {}


@final
class TableClient:
    """One table. `client` is a boto3 client, service resource or Table resource, or a SyncDriver.

    `floats` allows floats in items. `codecs` compress, encrypt or offload attributes.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        *,
        policy: RetryPolicy = DEFAULT_POLICY,
        floats: bool = False,
        codecs: Sequence[AttributeCodec] = (),
    ) -> None:
        self.driver = client if isinstance(client, SyncDriver) else SyncDriver(client)
        self.context = TableContext(table, policy, floats, codecs)
        self._key_names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.context.table

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key attributes, asked from the service once."""
        if not self._key_names:
            self._key_names = self.driver.run(describe_keys(self.context))
        return self._key_names

    def get(
        self, key: Key, *, consistent: bool = False, projection: Iterable[str] = ()
    ) -> Attributes | None:
        """Return the item with a key, or None."""
        plan = operations.get(self.context, key, consistent=consistent, projection=projection)
        return self.driver.run(plan)

    def put(
        self,
        item: Mapping[str, Any],
        *,
        condition: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> Attributes | None:
        """Write a whole item; return the one it replaced, or None."""
        plan = operations.put(self.context, item, condition=condition, values=values)
        return self.driver.run(plan)

    def create(self, item: Mapping[str, Any]) -> None:
        """Write an item that must not exist; AlreadyExists if it does."""
        self.driver.run(create(self.context, item, self.key_names[0]))

    def update(
        self,
        key: Key,
        *,
        set: Changes = _NOTHING,
        add: Changes = _NOTHING,
        remove: Iterable[str] = (),
        delete: Changes = _NOTHING,
        condition: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> Attributes:
        """Change attributes, creating the item if it is absent; return it as it is now."""
        changes = {"set": set, "add": add, "remove": remove, "delete": delete}
        plan = operations.change(self.context, key, changes, condition=condition, values=values)
        return self.driver.run(plan)

    def update_by(
        self, key: Key, expression: str, *, condition: str = "", **values: Any
    ) -> Attributes:
        """Update by an expression whose :parameters are given by name."""
        plan = operations.update(self.context, key, expression, condition=condition, values=values)
        return self.driver.run(plan)

    def delete(
        self, key: Key, *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> Attributes | None:
        """Delete an item; return it, or None if there was none."""
        plan = operations.delete(self.context, key, condition=condition, values=values)
        return self.driver.run(plan)

    def query(self, key: Key | str, **options: Unpack[ReadOptions]) -> Pages[Attributes]:
        """Return the items of a query; the key is a mapping or a key condition expression."""
        check_options(options, ReadOptions)
        fetch = operations.query_fetch(self.context, key, options)
        source = Source([[fetch]], from_wire_item, is_filtered=bool(options.get("filter")))
        return Pages(self.driver.run, source, options.get("limit"))

    def scan(self, **options: Unpack[ScanOptions]) -> Pages[Attributes]:
        """Return all items, page after page."""
        check_options(options, ScanOptions)
        fetch = operations.scan_fetch(self.context, options)
        source = Source([[fetch]], from_wire_item, is_filtered=bool(options.get("filter")))
        return Pages(self.driver.run, source, options.get("limit"))

    def parallel_scan(
        self,
        segments: int = 4,
        *,
        page: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        **options: Unpack[SegmentOptions],
    ) -> Iterator[Attributes]:
        """Scan in segments at the same time; items come as they arrive, in no order.

        At most one page of each segment, of `page` items if that is given, is held in memory.
        """
        check_options(options, SegmentOptions)
        steps = scans.ScanRounds(self.context, segments, options, page)
        return scans.run_rounds(steps, self.driver.run, on_progress)

    def batch_write(
        self, puts: Iterable[Mapping[str, Any]] = (), deletes: Iterable[Key] = (), width: int = 4
    ) -> int:
        """Put and delete any number of items; return how many. `width` batches run at a time."""
        names = self.key_names
        return self.driver.run(batches.batch_write(self.context, puts, deletes, names, width))

    def batch_get(
        self,
        keys: Iterable[Key],
        *,
        consistent: bool = False,
        projection: Iterable[str] = (),
        width: int = 4,
    ) -> list[Attributes]:
        """Return the items with these keys that exist, in no particular order."""
        return self.driver.run(
            batches.batch_get(
                self.context, keys, consistent=consistent, projection=projection, width=width
            )
        )

    def transact(self, transaction: Transaction) -> None:
        """Carry out a transaction; it may also concern other tables."""
        self.driver.run(transaction.plan())


def create(context: TableContext, item: Mapping[str, Any], key_name: str) -> Plan[None]:
    """Write an item that must not exist; AlreadyExists if it does."""
    try:
        yield from operations.put(context, item, condition=f"attribute_not_exists(#{key_name})")
    except ConditionFailed as error:
        message = f"{context.table} has an item with this key already"
        raise AlreadyExists(message, error.item) from error


def describe_keys(context: TableContext) -> Plan[tuple[str, ...]]:
    """Return the names of the key attributes of a table, partition key first."""
    answer = yield from context.send("describe_table", {})
    schema = sorted(answer["Table"]["KeySchema"], key=lambda each: each["KeyType"] != "HASH")
    return tuple(each["AttributeName"] for each in schema)
