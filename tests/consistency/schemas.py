"""A workload that creates, changes and deletes tables while others are in use.

Each client has a table of its own, which it makes, fills, gives an index and deletes, again and
again: a table that is made again is empty, and an index that is filled equals its table. The first
client does nothing else than to add an index to the table of all other workloads and to take it
away. Requests are repeated until they are answered, as an administrator would do.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.consistency.history import OK, Operation
from tests.consistency.workloads import TABLE, Caller, Workload
from tests.faults.served import NoAnswerError
from tests.harness.endpoint import Reply

LATE_INDEX = "late"
_KEYS = [{"AttributeName": "pk", "AttributeType": "S"}]
_GROUP = {"AttributeName": "group", "AttributeType": "S"}
_ITEMS = 12
_POLL_SECONDS = 0.1


class SlowError(Exception):
    """Something did not come true in minutes."""


class Patient:
    """A connection that repeats each request until it is answered, for as long as it takes."""

    def __init__(self, caller: Caller, seconds: float = 180.0) -> None:
        self._caller = caller
        self._seconds = seconds

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds."""
        deadline = time.monotonic() + self._seconds
        while not condition():
            if time.monotonic() > deadline:
                raise SlowError(f"it never came true that {what}")
            time.sleep(_POLL_SECONDS)

    def call(self, operation: str, request: dict[str, Any]) -> Reply:
        """Return the first answer that is not a failure of the server."""
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                reply = self._caller.call(operation, request)
                if reply.status < 500:
                    return reply
                failure = f"{reply.error}: {reply.message}"
            except (NoAnswerError, ConnectionError) as error:
                failure = str(error)
            if time.monotonic() > deadline:
                raise SlowError(f"{operation} was not answered: {failure}")
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Close the connection."""
        self._caller.close()


class Schemas(Workload):
    """Tables that come and go."""

    name = "schemas"

    def __init__(self, seconds: float = 180.0) -> None:
        super().__init__()
        self._seconds = seconds
        self._problems: list[str] = []
        self._lock = threading.Lock()

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        patient = Patient(caller, self._seconds)
        operation = Operation(process, "cycle", called=time.monotonic_ns())
        try:
            if process:
                self._live(patient, f"schema-{process}", rng)
            else:
                self._change_shared(patient)
        except SlowError as error:
            self._complain(str(error))
        operation.outcome = OK
        operation.returned = time.monotonic_ns()
        self.history.add(operation)

    def _change_shared(self, caller: Patient) -> None:
        """Add an index to the table of the other workloads; take it away again."""
        add_index(caller, TABLE)
        _wait_filled(caller, TABLE)
        _update(caller, TABLE, {"Delete": {"IndexName": LATE_INDEX}})
        caller.wait(lambda: LATE_INDEX not in _indexes(caller, TABLE), "the index is gone")

    def _live(self, caller: Patient, table: str, rng: random.Random) -> None:
        """Take a table from its creation to its deletion."""
        _delete(caller, table)  # a cycle before may have been given up
        _create(caller, table)
        # A server may have the table before in mind for a moment, but it forgets it.
        caller.wait(lambda: not _items(caller, table), f"{table}, which was just made, is empty")
        names = {f"{rng.getrandbits(64):x}": f"g{rng.randrange(3)}" for _ in range(_ITEMS)}
        for number, (name, group) in enumerate(names.items()):
            if number == _ITEMS // 2:
                add_index(caller, table)
            item = {"pk": {"S": name}, "group": {"S": group}}
            reply = caller.call("PutItem", {"TableName": table, "Item": item})
            assert reply.status == 200, reply.message
        table_items = _items(caller, table)
        if table_items != names:
            self._complain(f"{table} lacks items or has others: {table_items} and not {names}")
        _wait_filled(caller, table)
        # Followers of indexes may be late, but never for good.
        caller.wait(
            lambda: _items(caller, table, IndexName=LATE_INDEX) == table_items,
            f"the index of {table} equals it",
        )
        _delete(caller, table)

    def _complain(self, problem: str) -> None:
        with self._lock:
            self._problems.append(problem)

    def check(self, caller: Caller) -> list[str]:
        return self._problems


def add_index(caller: Patient, table: str) -> None:
    """Have a table get the late index."""
    index = {
        "IndexName": LATE_INDEX,
        "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    _update(caller, table, {"Create": index})


def _wait_filled(caller: Patient, table: str) -> None:
    def is_filled() -> bool:
        return _indexes(caller, table).get(LATE_INDEX) == "ACTIVE"

    caller.wait(is_filled, f"the index of {table} is filled")


def _create(caller: Patient, table: str) -> None:
    request = {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": _KEYS,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    }
    reply = caller.call("CreateTable", request)
    # An earlier try may have made it, without an answer.
    assert reply.status == 200 or reply.error == "ResourceInUseException", reply.message
    caller.wait(
        lambda: _describe(caller, table).get("TableStatus") == "ACTIVE", f"{table} is active"
    )


def _update(caller: Patient, table: str, change: dict[str, Any]) -> None:
    request = {
        "TableName": table,
        "AttributeDefinitions": [*_KEYS, _GROUP],
        "GlobalSecondaryIndexUpdates": [change],
    }

    def is_accepted() -> bool:
        reply = caller.call("UpdateTable", request)
        if reply.status == 200 or reply.error == "ResourceNotFoundException":
            return True
        # An earlier try may have made the index; one that is made or deleted is in the way.
        assert reply.status == 400, reply.message
        is_there = LATE_INDEX in _indexes(caller, table)
        return is_there == ("Create" in change) and reply.error == "ValidationException"

    caller.wait(is_accepted, f"the indexes of {table} may be changed")


def _delete(caller: Patient, table: str) -> None:
    def is_gone() -> bool:
        return caller.call("DeleteTable", {"TableName": table}).error == "ResourceNotFoundException"

    caller.wait(is_gone, f"{table} is deleted")
    caller.wait(lambda: not _describe(caller, table), f"{table} is gone everywhere")


def _describe(caller: Patient, table: str) -> dict[str, Any]:
    reply = caller.call("DescribeTable", {"TableName": table})
    found: dict[str, Any] = reply.body.get("Table", {})
    return found


def _indexes(caller: Patient, table: str) -> dict[str, str]:
    """Return the states of the global indexes of a table."""
    found = _describe(caller, table).get("GlobalSecondaryIndexes", ())
    return {index["IndexName"]: index["IndexStatus"] for index in found}


def _items(caller: Patient, table: str, **options: Any) -> dict[str, str]:
    """Return the items of a table, read strongly, or of an index: names and groups."""
    request = {"TableName": table, **(options or {"ConsistentRead": True})}
    reply = caller.call("Scan", request)
    # Another server may not have heard of the table or index yet.
    items = reply.body["Items"] if reply.status == 200 else []
    return {item["pk"]["S"]: item["group"]["S"] for item in items}
