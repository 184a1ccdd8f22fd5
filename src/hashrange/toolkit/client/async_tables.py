"""The client of one table, awaited: the same operations as `TableClient`, on aiobotocore."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack, final

from hashrange.toolkit.client import batches, operations, scans
from hashrange.toolkit.client.async_driver import AsyncDriver, AsyncPages
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
from hashrange.toolkit.client.pages import Source
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy
from hashrange.toolkit.client.scans import Progress
from hashrange.toolkit.client.tables import Changes, create, describe_keys
from hashrange.toolkit.client.transactions import Transaction
from hashrange.toolkit.values import from_wire_item

_NOTHING: Changes = {}


@final
class AsyncTableClient:
    """One table. `client` is a client of aiobotocore or an AsyncDriver."""

    def __init__(
        self,
        client: Any,
        table: str,
        *,
        policy: RetryPolicy = DEFAULT_POLICY,
        floats: bool = False,
        codecs: Sequence[AttributeCodec] = (),
    ) -> None:
        self.driver = client if isinstance(client, AsyncDriver) else AsyncDriver(client)
        self.context = TableContext(table, policy, floats, codecs)
        self._key_names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.context.table

    async def key_names(self) -> tuple[str, ...]:
        """Return the names of the key attributes, asked from the service once."""
        if not self._key_names:
            self._key_names = await self.driver.run(describe_keys(self.context))
        return self._key_names

    async def get(
        self, key: Key, *, consistent: bool = False, projection: Iterable[str] = ()
    ) -> Attributes | None:
        """Return the item with a key, or None."""
        return await self.driver.run(
            operations.get(self.context, key, consistent=consistent, projection=projection)
        )

    async def put(
        self,
        item: Mapping[str, Any],
        *,
        condition: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> Attributes | None:
        """Write a whole item; return the one it replaced, or None."""
        plan = operations.put(self.context, item, condition=condition, values=values)
        return await self.driver.run(plan)

    async def create(self, item: Mapping[str, Any]) -> None:
        """Write an item that must not exist; AlreadyExists if it does."""
        names = await self.key_names()
        await self.driver.run(create(self.context, item, names[0]))

    async def update(
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
        return await self.driver.run(plan)

    async def update_by(
        self, key: Key, expression: str, *, condition: str = "", **values: Any
    ) -> Attributes:
        """Update by an expression whose :parameters are given by name."""
        return await self.driver.run(
            operations.update(self.context, key, expression, condition=condition, values=values)
        )

    async def delete(
        self, key: Key, *, condition: str = "", values: Mapping[str, Any] | None = None
    ) -> Attributes | None:
        """Delete an item; return it, or None if there was none."""
        plan = operations.delete(self.context, key, condition=condition, values=values)
        return await self.driver.run(plan)

    def query(self, key: Key | str, **options: Unpack[ReadOptions]) -> AsyncPages[Attributes]:
        """Return the items of a query; the key is a mapping or a key condition expression."""
        check_options(options, ReadOptions)
        fetch = operations.query_fetch(self.context, key, options)
        source = Source([[fetch]], from_wire_item, is_filtered=bool(options.get("filter")))
        return AsyncPages(self.driver, source, options.get("limit"))

    def scan(self, **options: Unpack[ScanOptions]) -> AsyncPages[Attributes]:
        """Return all items, page after page."""
        check_options(options, ScanOptions)
        fetch = operations.scan_fetch(self.context, options)
        source = Source([[fetch]], from_wire_item, is_filtered=bool(options.get("filter")))
        return AsyncPages(self.driver, source, options.get("limit"))

    async def parallel_scan(
        self,
        segments: int = 4,
        *,
        page: int | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        **options: Unpack[SegmentOptions],
    ) -> AsyncIterator[Attributes]:
        """Scan in segments at the same time; items come as they arrive, in no order."""
        check_options(options, SegmentOptions)
        steps = scans.ScanRounds(self.context, segments, options, page)
        while not steps.is_done():
            found, progress = await self.driver.run(steps.plan())
            for item in found:
                yield item
            if on_progress:
                on_progress(progress)

    async def batch_write(
        self, puts: Iterable[Mapping[str, Any]] = (), deletes: Iterable[Key] = (), width: int = 4
    ) -> int:
        """Put and delete any number of items; return how many."""
        names = await self.key_names()
        plan = batches.batch_write(self.context, puts, deletes, names, width)
        return await self.driver.run(plan)

    async def batch_get(
        self,
        keys: Iterable[Key],
        *,
        consistent: bool = False,
        projection: Iterable[str] = (),
        width: int = 4,
    ) -> list[Attributes]:
        """Return the items with these keys that exist, in no particular order."""
        return await self.driver.run(
            batches.batch_get(
                self.context, keys, consistent=consistent, projection=projection, width=width
            )
        )

    async def transact(self, transaction: Transaction) -> None:
        """Carry out a transaction; it may also concern other tables."""
        await self.driver.run(transaction.plan())
