"""Counts the statements that processes of a cluster send to Cassandra while nobody uses them.

    python -m bench.cluster_idle [--seconds 10]

Cassandra is played in memory, so the machine and its load change nothing. One process does the
background work, the other one does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

from hashrange.app import engines
from hashrange.testing.server import LocalServer, serve
from tests.harness.played_cassandra import NAMES, PlayedCassandra

_SHARDS = 16
_TABLES = 3
_ITEMS = 50
# Looks become less frequent for about so long.
_SETTLE_SECONDS = 10.0


class CountingCassandra(PlayedCassandra):
    """A played cluster that counts the statements of each engine."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: list[Counter[str]] = []

    def counting_engine(self) -> Any:
        """Return an engine whose statements are counted."""
        engine = self.engine(_SHARDS)
        counter: Counter[str] = Counter()
        self.counted.append(counter)
        link: Any = engine._link
        ask = link.ask

        async def count(statement: Any, profile: str) -> Any:
            batch = statement if isinstance(statement, list) else [statement]
            counter[f"{NAMES[batch[0][0]]} ({profile})"] += 1
            return await ask(statement, profile)

        link.ask = count
        return engine


def main() -> None:
    """Measure, and print a line for each kind of statement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds: float = parser.parse_args().seconds
    cluster = CountingCassandra()
    setattr(engines, "MemoryEngine", cluster.counting_engine)  # noqa: B010 - not exported
    with ExitStack() as stack:
        servers = [stack.enter_context(serve("provisioned")) for _ in range(2)]
        _use(servers[0])
        time.sleep(_SETTLE_SECONDS)
        before = [Counter(counter) for counter in cluster.counted]
        time.sleep(seconds)
        after = [Counter(counter) for counter in cluster.counted]
    for number, (first, last) in enumerate(zip(before, after, strict=True)):
        sent = last - first
        sys.stdout.write(f"process {number}: {sent.total() / seconds:.1f} statements/s\n")
        for name, count in sent.most_common():
            sys.stdout.write(f"  {count / seconds:6.2f} {name}\n")


def _use(server: LocalServer) -> None:
    """Make tables with everything that is kept up in the background."""
    client = server.client()
    for number in range(_TABLES):
        name = f"Table{number}"
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in "ag"],
            KeySchema=[{"AttributeName": "a", "KeyType": "HASH"}],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "ByG",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        client.update_time_to_live(
            TableName=name,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"},
        )
        for item in range(_ITEMS):
            client.put_item(TableName=name, Item={"a": {"S": str(item)}, "g": {"S": "g"}})


if __name__ == "__main__":
    main()
