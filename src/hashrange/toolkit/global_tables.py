"""A table with replicas in several regions: reads and writes with fallback.

Requests go to the preferred region. If it is throttling or not answering, they go to the next one,
in order. A refusal (a failed condition, a mistake in the request) is an answer, and is not asked
elsewhere. Replicas follow with a delay: a read that fell back may miss the latest writes, and of
two writes to an item in two regions the later one wins. Nothing is written to two regions here:
replication is the service's task.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, final

from hashrange.toolkit.client.operations import Attributes, Key
from hashrange.toolkit.client.retries import RetryPolicy
from hashrange.toolkit.client.tables import TableClient
from hashrange.toolkit.errors import DesignError, Throttled, Unavailable

Outcome = TypeVar("Outcome")
_QUICK: Final = RetryPolicy(attempts=2, cap=0.2)


@final
class GlobalTable:
    """A table in several regions. `clients` maps regions to boto3 clients, the preferred first."""

    def __init__(
        self,
        table: str,
        clients: Mapping[str, Any],
        *,
        policy: RetryPolicy = _QUICK,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not clients:
            raise DesignError("a global table needs at least one region")
        self._tables = {
            region: TableClient(client, table, policy=policy) for region, client in clients.items()
        }
        self._sleep = sleep
        self.last_region = next(iter(self._tables))

    def table(self, region: str) -> TableClient:
        """Return the client of one region."""
        return self._tables[region]

    def get(self, key: Key, *, consistent: bool = False) -> Attributes | None:
        """Return an item from the first region that answers."""
        return self._first(lambda table: table.get(key, consistent=consistent))

    def put(self, item: Mapping[str, Any]) -> Attributes | None:
        """Write an item in the first region that answers; return what it replaced there."""
        return self._first(lambda table: table.put(item))

    def delete(self, key: Key) -> Attributes | None:
        """Delete an item in the first region that answers."""
        return self._first(lambda table: table.delete(key))

    def missing_in(self, key: Key, expected: Attributes) -> tuple[str, ...]:
        """Return the regions in which an item is not (yet) as expected."""
        return tuple(
            region
            for region, table in self._tables.items()
            if table.get(key, consistent=True) != expected
        )

    def wait_until_replicated(
        self, key: Key, expected: Attributes, *, polls: int = 20, seconds: float = 0.5
    ) -> None:
        """Wait until all regions have an item as expected; Unavailable names those that do not."""
        missing: tuple[str, ...] = ()
        for _ in range(polls):
            missing = self.missing_in(key, expected)
            if not missing:
                return
            self._sleep(seconds)
        raise Unavailable(f"not replicated to {', '.join(missing)}")

    def add_replicas(self) -> None:
        """Ask the preferred region to replicate the table to all other regions."""
        first, *others = self._tables
        table = self._tables[first]
        for region in others:
            update = [{"Create": {"RegionName": region}}]
            table.driver.run(table.context.send("update_table", {"ReplicaUpdates": update}))

    def _first(self, ask: Callable[[TableClient], Outcome]) -> Outcome:
        failures = []
        for region, table in self._tables.items():
            try:
                outcome = ask(table)
            except (Throttled, Unavailable) as error:
                failures.append(f"{region}: {error}")
                continue
            self.last_region = region
            return outcome
        raise Unavailable("; ".join(failures))
