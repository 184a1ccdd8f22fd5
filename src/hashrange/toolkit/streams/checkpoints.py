"""Where a consumer keeps its position: for each shard the last sequence number it has finished.

`SHARD_END` marks a shard that was read to its end. A store is asked for all positions of a stream
once, when a consumer starts, and told each new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, final

from hashrange.toolkit.client.async_tables import AsyncTableClient
from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.tables import TableClient

SHARD_END: Final = "SHARD_END"


class Checkpoints(Protocol):
    """Keeps positions."""

    def load(self, stream: str) -> Mapping[str, str]:
        """Return the position of each shard of a stream."""
        ...

    def save(self, stream: str, shard: str, position: str) -> None:
        """Keep the position of a shard."""
        ...

    def forget(self, stream: str, shard: str) -> None:
        """Drop a shard that no longer exists."""
        ...


class AsyncCheckpoints(Protocol):
    """Keeps positions, with methods that are awaited."""

    async def load(self, stream: str) -> Mapping[str, str]: ...

    async def save(self, stream: str, shard: str, position: str) -> None: ...

    async def forget(self, stream: str, shard: str) -> None: ...


@final
class MemoryCheckpoints:
    """Positions in memory, for tests and for consumers that always start over."""

    def __init__(self) -> None:
        self._positions: dict[tuple[str, str], str] = {}

    def load(self, stream: str) -> Mapping[str, str]:
        return {shard: at for (name, shard), at in self._positions.items() if name == stream}

    def save(self, stream: str, shard: str, position: str) -> None:
        self._positions[stream, shard] = position

    def forget(self, stream: str, shard: str) -> None:
        self._positions.pop((stream, shard), None)


@final
class FileCheckpoints:
    """Positions in a JSON file, replaced as a whole with each change. One process at a time."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self, stream: str) -> Mapping[str, str]:
        return self._all().get(stream, {})

    def save(self, stream: str, shard: str, position: str) -> None:
        positions = self._all()
        positions.setdefault(stream, {})[shard] = position
        self._write(positions)

    def forget(self, stream: str, shard: str) -> None:
        positions = self._all()
        positions.get(stream, {}).pop(shard, None)
        self._write(positions)

    def _all(self) -> dict[str, dict[str, str]]:
        if not self._path.exists():
            return {}
        positions: dict[str, dict[str, str]] = json.loads(self._path.read_text())
        return positions

    def _write(self, positions: dict[str, dict[str, str]]) -> None:
        temporary = self._path.with_suffix(".new")
        with temporary.open("w") as file:
            json.dump(positions, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)


@final
class TableCheckpoints:
    """Positions in a DynamoDB table with the string keys `stream` and `shard`."""

    def __init__(self, client: Any, table: str) -> None:
        driver = client if isinstance(client, SyncDriver) else SyncDriver(client)
        self._table = TableClient(driver, table)

    def create_table(self) -> None:
        """Create the table for positions."""
        self._table.driver.client.create_table(**_table_of_positions(self._table.name))

    def load(self, stream: str) -> Mapping[str, str]:
        items = self._table.query({"stream": stream}, consistent=True)
        return {item["shard"]: item["position"] for item in items}

    def save(self, stream: str, shard: str, position: str) -> None:
        self._table.put({"stream": stream, "shard": shard, "position": position})

    def forget(self, stream: str, shard: str) -> None:
        self._table.delete({"stream": stream, "shard": shard})


@final
class AsyncTableCheckpoints:
    """Positions in a DynamoDB table, as TableCheckpoints keeps them, on a client of aiobotocore."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = AsyncTableClient(client, table)

    async def create_table(self) -> None:
        """Create the table for positions."""
        await self._table.driver.client.create_table(**_table_of_positions(self._table.name))

    async def load(self, stream: str) -> Mapping[str, str]:
        items = self._table.query({"stream": stream}, consistent=True)
        return {item["shard"]: item["position"] async for item in items}

    async def save(self, stream: str, shard: str, position: str) -> None:
        await self._table.put({"stream": stream, "shard": shard, "position": position})

    async def forget(self, stream: str, shard: str) -> None:
        await self._table.delete({"stream": stream, "shard": shard})


def _table_of_positions(name: str) -> dict[str, Any]:
    names = ("stream", "shard")
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [
            {"AttributeName": each, "KeyType": kind}
            for each, kind in zip(names, ("HASH", "RANGE"), strict=True)
        ],
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in names],
    }
