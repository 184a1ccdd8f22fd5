"""Locks, open transactions and queued index changes that stay behind are found."""

import json

from tests.cassandra_nodes.leftovers import find_leftovers


class Rows(list[tuple[object, ...]]):
    """An answer of the driver."""

    def one(self) -> tuple[object, ...]:
        return self[0]


class Session:
    """A session on two spaces; `left` has the stores with rows, by space and number."""

    def __init__(self, *left: tuple[str, int]) -> None:
        self._left = left

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> Rows:
        if "FROM spaces" in statement:
            table = {"stores": {"t": 1, "t.k": 2, "t.q": 3, "t.s": 4}, "shards": 2}
            ledger = {"stores": {"ledger": 1, "ledger.o": 2}, "shards": 1}
            return Rows([("t", json.dumps(table)), ("ledger", json.dumps(ledger))])
        space, _, number = values
        return Rows([(5 if (space, number) in self._left else 0,)])


def test_items_and_logs_may_stay():
    assert find_leftovers(Session(("t", 1), ("t", 4), ("ledger", 1))) == []


def test_what_must_not_stay_is_found_in_every_shard():
    assert find_leftovers(Session(("t", 2), ("t", 3), ("ledger", 2))) == [
        "5 locks left in t.k, shard 0",
        "5 locks left in t.k, shard 1",
        "5 changes of indexes left in t.q, shard 0",
        "5 changes of indexes left in t.q, shard 1",
        "5 open transactions left in ledger.o, shard 0",
    ]
