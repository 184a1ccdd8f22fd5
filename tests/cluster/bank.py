"""A bank in two tables of a faulty cluster: transfers, deposits, snapshots, and what must hold.

Accounts are items of two tables with a stream, a local and a global index. A transfer moves money
between two accounts in one transaction and leaves its name on both. A touch is a single update that
counts, and moves the account to another place of the global index. Several front ends, followers
and recoveries work at once.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Coroutine
from typing import Any

from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.engine.base import STRONG
from hashrange.engine.memory.cluster import ClusterMemoryEngine
from hashrange.engine.memory.faults import FaultPlan, Rates
from hashrange.errors import EngineError, UnknownOutcomeError
from hashrange.limits import SHARD_SECONDS
from hashrange.storage.ledger import LEDGER_SHARDS, OPEN
from tests.cluster.schedule import Scheduler, pause
from tests.harness.calls import answer

TABLES = ("left", "right")
ACCOUNTS = 5
MONEY = 20
WITNESS_ROUNDS = 30
OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
SCHEMA: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("p", "r", "g")
    ],
    "KeySchema": [
        {"AttributeName": "p", "KeyType": "HASH"},
        {"AttributeName": "r", "KeyType": "RANGE"},
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [
                {"AttributeName": "p", "KeyType": "HASH"},
                {"AttributeName": "g", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}

Account = tuple[str, str]
"""Table and partition key."""


class Failure(Exception):
    """An error answer: its type and its document."""

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        self.kind = document.get("__type", "").partition("#")[2]
        super().__init__(status, document)
        self.status = status


class Bank:
    """One run of the bank."""

    def __init__(self, seed: int, rates: Rates) -> None:
        self.clock = VirtualClock()
        self.plan = FaultPlan(seed, rates)
        self.engine = ClusterMemoryEngine(self.plan)
        self.fronts = [Database(self.engine, self.clock) for _ in range(3)]
        self.scheduler = Scheduler(seed, self.clock)
        self.accounts: list[Account] = [
            (table, f"account {number}") for table in TABLES for number in range(ACCOUNTS)
        ]
        self.transfers: dict[str, tuple[Account, Account, str]] = {}
        self.touches: dict[Account, list[str]] = {account: [] for account in self.accounts}
        self.sums: list[int] = []

    async def call(self, front: int, operation: str, **request: Any) -> dict[str, Any]:
        """Have a front end carry out an operation."""
        answered = await answer(self.fronts[front], operation, json.dumps(request).encode())
        document: dict[str, Any] = json.loads(answered.body)
        if answered.status != 200:
            raise Failure(answered.status, document)
        return document

    async def open(self) -> None:
        """Make the tables and the accounts."""
        for table in TABLES:
            await self.surely("CreateTable", TableName=table, **SCHEMA)
        for table, name in self.accounts:
            item = key_of(name) | {"money": {"N": str(MONEY)}, "g": {"S": "g0"}, "n": {"N": "0"}}
            await self.surely("PutItem", TableName=table, Item=item)

    async def surely(self, operation: str, **request: Any) -> dict[str, Any]:
        """Carry out an operation; what may be done twice is repeated until it is known."""
        while True:
            try:
                return await self.call(0, operation, **request)
            except Failure as failure:
                if failure.kind == "ResourceInUseException" or "already exists" in str(failure):
                    return {}
                if failure.status != 500:
                    raise

    def processes(self, transfers: int, touches: int, snapshots: int) -> dict[str, Any]:
        """Return what happens at once, by name."""
        chance = self.scheduler.random
        found: dict[str, Coroutine[Any, Any, None]] = {}
        for number in range(transfers):
            pair = chance.sample(self.accounts, 2)
            amount = chance.randrange(1, 12)
            front = chance.randrange(len(self.fronts))
            found[f"transfer{number}"] = self.transfer(f"t{number}", front, pair, amount)
        for number in range(touches):
            account = chance.choice(self.accounts)
            group = f"g{chance.randrange(4)}"
            front = chance.randrange(len(self.fronts))
            found[f"touch{number}"] = self.touch(front, account, group)
        for number in range(snapshots):
            found[f"snapshot{number}"] = self.snapshot(number % len(self.fronts))
        for number in range(snapshots):
            found[f"witness{number}"] = self.witness(number % len(self.fronts))
        for number in range(4):
            found[f"service{number}"] = self.serve(number % len(self.fronts), rounds=20)
        return found

    async def transfer(self, name: str, front: int, pair: list[Account], amount: int) -> None:
        """Move money from one account to another, if the first has enough."""
        taker, giver = pair
        self.transfers[name] = (taker, giver, UNKNOWN)
        try:
            await self.call(
                front,
                "TransactWriteItems",
                TransactItems=[
                    {"Update": move(giver, name, -amount, "money >= :least", amount)},
                    {"Update": move(taker, name, amount, "attribute_exists(p)", None)},
                ],
                **({"ClientRequestToken": name} if amount % 2 else {}),
            )
            self.transfers[name] = (taker, giver, OK)
        except Failure as failure:
            if failure.status == 400:
                self.transfers[name] = (taker, giver, REFUSED)

    async def touch(self, front: int, account: Account, group: str) -> None:
        """Count on an account, and see that a strong read afterwards shows it."""
        table, name = account
        self.touches[account].append(UNKNOWN)
        position = len(self.touches[account]) - 1
        try:
            answer = await self.call(
                front,
                "UpdateItem",
                TableName=table,
                Key=key_of(name),
                UpdateExpression="ADD n :one SET g = :g",
                ExpressionAttributeValues={":one": {"N": "1"}, ":g": {"S": group}},
                ReturnValues="ALL_NEW",
            )
            self.touches[account][position] = OK
            seen = await self.read_strongly(front, account)
            assert int(seen["n"]["N"]) >= int(answer["Attributes"]["n"]["N"]), "stale read"
        except Failure as failure:
            if failure.status == 400:
                self.touches[account][position] = REFUSED

    async def snapshot(self, front: int) -> None:
        """Sum up all accounts as they are at one moment."""
        gets = [{"Get": {"TableName": table, "Key": key_of(name)}} for table, name in self.accounts]
        try:
            answer = await self.call(front, "TransactGetItems", TransactItems=gets)
        except Failure:
            return
        self.sums.append(sum(int(part["Item"]["money"]["N"]) for part in answer["Responses"]))

    async def witness(self, front: int) -> None:
        """See that whoever has seen one half of a transfer sees the other one, too."""
        known: set[str] = set()
        for _ in range(WITNESS_ROUNDS):
            account = self.scheduler.random.choice(self.accounts)
            seen = await self.read_strongly(front, account)
            for name in [name for name in self.transfers if name in seen and name not in known]:
                known.add(name)
                taker, giver, _ = self.transfers[name]
                other = await self.read_strongly(front, giver if account == taker else taker)
                assert not other or name in other, "half a transfer seen"

    async def read_strongly(self, front: int, account: Account) -> dict[str, Any]:
        """Return an account as it is now; nothing if it cannot be read."""
        table, name = account
        try:
            answer = await self.call(
                front, "GetItem", TableName=table, Key=key_of(name), ConsistentRead=True
            )
        except Failure:
            return {}
        item: dict[str, Any] = answer["Item"]
        return item

    async def serve(self, front: int, rounds: int) -> None:
        """Do background work beside everybody else."""
        for _ in range(rounds):
            # As in the loop of the background services: what fails is done the next time.
            with contextlib.suppress(EngineError, UnknownOutcomeError):
                await self.fronts[front].do_due_work()
            await pause(0.005)

    async def change_tables(self, front: int) -> None:
        """Add an index to each table, and have the shards of streams rolled over."""
        for table, name in zip(TABLES, ("late", "later"), strict=True):
            await pause(0.005)
            definition = {**SCHEMA["GlobalSecondaryIndexes"][0], "IndexName": name}
            await self.surely(
                "UpdateTable",
                TableName=table,
                AttributeDefinitions=SCHEMA["AttributeDefinitions"],
                GlobalSecondaryIndexUpdates=[{"Create": definition}],
            )
            await self.serve(front, rounds=4)
        self.clock.advance(SHARD_SECONDS)
        await self.serve(front, rounds=4)

    async def settle(self) -> None:
        """Let everything come to rest."""
        self.clock.advance(30)
        self.plan.calm()
        await self.fronts[-1].do_due_work()

    async def items(self, table: str, **options: Any) -> dict[str, dict[str, Any]]:
        """Return the items of a table or index, by partition key."""
        answer = await self.surely("Scan", TableName=table, **options)
        assert len({item["p"]["S"] for item in answer["Items"]}) == len(answer["Items"]), "index"
        return {item["p"]["S"]: item for item in answer["Items"]}

    async def records(self, table: str) -> list[dict[str, Any]]:
        """Return all records of a table's stream, shard by shard."""
        description = (await self.surely("DescribeTable", TableName=table))["Table"]
        arn = description["LatestStreamArn"]
        stream = await self.surely("DescribeStream", StreamArn=arn)
        found: list[dict[str, Any]] = []
        for shard in stream["StreamDescription"]["Shards"]:
            answer = await self.surely(
                "GetShardIterator",
                StreamArn=arn,
                ShardId=shard["ShardId"],
                ShardIteratorType="TRIM_HORIZON",
            )
            iterator = answer["ShardIterator"]
            while True:
                page = await self.surely("GetRecords", ShardIterator=iterator)
                found += page["Records"]
                if not page["Records"]:
                    break
                if "NextShardIterator" not in page:
                    break
                iterator = page["NextShardIterator"]
        return found

    async def check(self) -> None:
        """Assert everything that must hold at rest."""
        everything = {table: await self.items(table, ConsistentRead=True) for table in TABLES}
        self._check_money(everything)
        self._check_transfers(everything)
        self._check_touches(everything)
        for table, items in everything.items():
            local = await self.items(table, IndexName="local", ConsistentRead=True)
            assert local == items, "local index"
            described = (await self.surely("DescribeTable", TableName=table))["Table"]
            for index in described["GlobalSecondaryIndexes"]:
                name = index["IndexName"]
                assert index["IndexStatus"] == "ACTIVE", f"{name} is not filled"
                assert await self.items(table, IndexName=name) == items, "index"
                assert index["ItemCount"] == len(items), "index tally"
            check_replay(await self.records(table), items)
            assert described["ItemCount"] == len(items), "tally"
        await self._check_nothing_left()

    def _check_money(self, everything: dict[str, dict[str, dict[str, Any]]]) -> None:
        money = sum(
            int(item["money"]["N"]) for items in everything.values() for item in items.values()
        )
        assert money == MONEY * len(self.accounts), "money"
        assert set(self.sums) <= {money}, "snapshot"

    def _check_transfers(self, everything: dict[str, dict[str, dict[str, Any]]]) -> None:
        for name, (taker, giver, outcome) in self.transfers.items():
            marks = [name in everything[table][key] for table, key in (taker, giver)]
            assert marks[0] == marks[1], "half a transfer"
            assert outcome != OK or all(marks), "acknowledged, but lost"
            assert outcome != REFUSED or not any(marks), "refused, but carried out"

    def _check_touches(self, everything: dict[str, dict[str, dict[str, Any]]]) -> None:
        for (table, key), outcomes in self.touches.items():
            count = int(everything[table][key]["n"]["N"])
            sure = outcomes.count(OK)
            assert sure <= count <= sure + outcomes.count(UNKNOWN), "lost or repeated update"

    async def _check_nothing_left(self) -> None:
        for store in self.engine.stores():
            if store.endswith((".k", ".q")):
                for shard in range(self.engine.capabilities.shards):
                    assert not await self.rows(store, shard), f"something is left in {store}"
        for shard in range(LEDGER_SHARDS):
            assert not await self.rows(OPEN, shard), "an open transaction is left"

    async def rows(self, store: str, shard: int) -> list[tuple[bytes, bytes]]:
        """Return the rows of a store in a shard."""
        rows, _ = await self.engine.range(
            store,
            shard,
            b"",
            b"\xff" * 3000,
            reverse=False,
            rows_max=100,
            bytes_max=1 << 30,
            consistency=STRONG,
        )
        return rows


def key_of(name: str) -> dict[str, Any]:
    return {"p": {"S": name}, "r": {"S": "r"}}


def move(
    account: Account, name: str, amount: int, condition: str, least: int | None
) -> dict[str, Any]:
    """Return the part of a transfer that changes one account."""
    values: dict[str, Any] = {":amount": {"N": str(amount)}, ":yes": {"BOOL": True}}
    if least is not None:
        values[":least"] = {"N": str(least)}
    return {
        "TableName": account[0],
        "Key": key_of(account[1]),
        "UpdateExpression": f"ADD money :amount SET {name} = :yes",
        "ConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }


def check_replay(records: list[dict[str, Any]], items: dict[str, dict[str, Any]]) -> None:
    """Assert that a stream tells how each item became what it is, without gaps or repeats."""
    images: dict[str, Any] = {}
    for record in records:
        change = record["dynamodb"]
        key = change["Keys"]["p"]["S"]
        assert change.get("OldImage") == images.get(key), "a gap in the stream"
        images[key] = change.get("NewImage")
    assert images == items, "the stream does not lead to the table"


def run_bank(
    seed: int,
    rates: Rates,
    *,
    kill_rate: float = 0.002,
    transfers: int = 24,
    touches: int = 16,
    with_changes: bool = False,
) -> Bank:
    """Run a bank to its end, and check it."""
    bank = Bank(seed, rates)
    with bank.scheduler as scheduler:
        scheduler.finish(bank.open())
        processes = bank.processes(transfers, touches, snapshots=8)
        if with_changes:
            processes["admin"] = bank.change_tables(1)
        scheduler.run(processes, kill_rate=kill_rate, mortal="t")
        scheduler.finish(bank.settle())
        scheduler.finish(bank.check())
    return bank
