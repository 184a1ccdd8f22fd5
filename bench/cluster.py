"""Hashrange beside the bare driver on the same Cassandra cluster: `make bench-cluster`.

Rounds of both alternate in one process, so that what else the machine does hits both. The bare
driver writes rows of the same size in conditional batches, gathered per shard as Hashrange does,
but without reading, deciding or logging anything; it reads one row per statement. Hashrange
answers whole requests in process, without sockets. Arguments: contact points (127.0.0.1), seconds
per round (5), clients (64).
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

import orjson

from hashrange.app.database import Database
from hashrange.clock import SystemClock
from hashrange.engine.cassandra.engine import Access, CassandraEngine, Demands
from hashrange.engine.cassandra.session import CONDITIONAL, ONE, SERIAL
from tests.harness.calls import answer

SHARDS = 4
KEYS = 1000
ROUNDS = 3
TABLE = "bench"
PAYLOAD = "x" * 1000
BARS = {"item writes": 50, "strong reads": 50, "eventual reads": 60}

Act = Callable[[int], Awaitable[object]]


class Bare:
    """Rows in partitions of their own, through the driver and nothing else."""

    def __init__(self, engine: CassandraEngine) -> None:
        self._link = engine._link
        self._statements = engine._statements
        self._space = f"bare{random.randrange(1 << 40):x}"
        self._waiting: list[list[tuple[bytes, asyncio.Future[None]]]] = [[] for _ in range(SHARDS)]
        self._steps = [0] * SHARDS
        self._tasks: list[asyncio.Task[None] | None] = [None] * SHARDS

    async def write(self, number: int) -> None:
        """Put a row, together with others of its shard."""
        shard = number % SHARDS
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[shard].append((b"%08d" % number, future))
        task = self._tasks[shard]
        if task is None or task.done():
            self._tasks[shard] = asyncio.create_task(self._commit(shard))
        await future

    async def _commit(self, shard: int) -> None:
        await asyncio.sleep(0)
        while taken := self._waiting[shard][:64]:
            del self._waiting[shard][:64]
            n = self._steps[shard] + 1
            place = (self._space, shard)
            batch = [self._statements.move_head.bind((b"head", n, *place, n - 1 or None))]
            value = PAYLOAD.encode()
            batch += [self._statements.put.bind((*place, 1, key, value, n)) for key, _ in taken]
            [answer] = await self._link.ask(self._link.batch(batch), CONDITIONAL)
            assert answer[0]
            self._steps[shard] = n
            for _, future in taken:
                future.set_result(None)

    async def read(self, number: int, profile: str) -> None:
        """Get a row with a statement of its own."""
        wanted = [(1, b"%08d" % number)]
        bound = self._statements.read_keys.bind((self._space, number % SHARDS, wanted))
        assert await self._link.ask(bound, profile)


class Served:
    """The same through the API."""

    def __init__(self, engine: CassandraEngine) -> None:
        self._database = Database(engine, SystemClock())

    async def create(self) -> None:
        await self._call(
            "CreateTable",
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        )

    async def write(self, number: int) -> None:
        item = {"p": {"S": f"{number:08d}"}, "v": {"S": PAYLOAD}}
        await self._call("PutItem", TableName=TABLE, Item=item)

    async def read(self, number: int, consistent: bool) -> None:
        key = {"p": {"S": f"{number:08d}"}}
        found = await self._call("GetItem", TableName=TABLE, Key=key, ConsistentRead=consistent)
        assert "Item" in found

    async def _call(self, operation: str, **request: Any) -> Any:
        found = await answer(self._database, operation, orjson.dumps(request))
        assert found.status == 200, found.body
        return orjson.loads(found.body)


async def rate(act: Act, clients: int, seconds: float) -> float:
    """Return how often clients in a closed loop can do something in a second."""
    deadline = monotonic() + seconds
    counter = itertools.count()

    async def run() -> None:
        while monotonic() < deadline:
            await act(random.randrange(KEYS))
            next(counter)

    began = monotonic()
    await asyncio.gather(*(run() for _ in range(clients)))
    return next(counter) / (monotonic() - began)


async def main(points: str, seconds: float, clients: int) -> None:
    addresses = tuple(points.split(","))
    demands = Demands(replication=min(3, len(addresses)))
    prefix = f"b{random.randrange(1 << 40):x}"
    engine = CassandraEngine.open(
        Access(contact_points=addresses), "hashrange_bench", demands, shards=SHARDS, prefix=prefix
    )
    bare, served = Bare(engine), Served(engine)
    await served.create()
    for start in range(0, KEYS, 100):
        await asyncio.gather(*(bare.write(n) for n in range(start, start + 100)))
        await asyncio.gather(*(served.write(n) for n in range(start, start + 100)))
    pairs: dict[str, tuple[Act, Act]] = {
        "item writes": (bare.write, served.write),
        "strong reads": (lambda n: bare.read(n, SERIAL), lambda n: served.read(n, True)),
        "eventual reads": (lambda n: bare.read(n, ONE), lambda n: served.read(n, False)),
    }
    sys.stdout.write(f"{clients} clients, {len(addresses)} nodes; per second, by rounds\n")
    for name, acts in pairs.items():
        rates: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for number, act in enumerate(acts):
                rates[number].append(await rate(act, clients, seconds))
        ratio = 100 * sum(rates[1]) / sum(rates[0])
        shown = [" ".join(f"{each:,.0f}" for each in side) for side in rates]
        sys.stdout.write(
            f"{name}: driver {shown[0]}, Hashrange {shown[1]}: {ratio:.0f} % (bar {BARS[name]} %)\n"
        )
    await engine.close()


if __name__ == "__main__":
    defaults = ["127.0.0.1", "5", "64"]
    given = [*sys.argv[1:], *defaults[len(sys.argv) - 1 :]]
    asyncio.run(main(given[0], float(given[1]), int(given[2])))
