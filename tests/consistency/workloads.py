"""Clients that use one table in ways whose histories can be checked.

Each workload is a set of clients with connections of their own. A client makes one random step
after another until it is told to stop; what it cannot know it records as unknown.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tests.consistency.cycles import check_lists
from tests.consistency.history import OK, UNKNOWN, History, Operation
from tests.harness.endpoint import Reply

TABLE = "consistency"
INDEX = "by_group"
ACCOUNTS = 8
BALANCE = 100
# A register is left for a new one after so many steps: the search for an order stays short.
_REGISTER_STEPS = 150


Judge = Callable[[Sequence[Operation]], list[str]]
"""Returns what is wrong with a history of registers."""


class Caller(Protocol):
    """A connection; see tests.faults.served.Connection."""

    def call(self, operation: str, request: dict[str, Any]) -> Reply: ...

    def close(self) -> None: ...


def key(kind: str, name: object) -> dict[str, Any]:
    """Return the key of an item of a workload."""
    return {"pk": {"S": f"{kind}#{name}"}}


def create_table(caller: Caller) -> None:
    """Create the table, with a stream and a global index; it may be there already."""
    reply = caller.call(
        "CreateTable",
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "group", "AttributeType": "S"},
            ],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": INDEX,
                    "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            "StreamSpecification": {
                "StreamEnabled": True,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
        },
    )
    assert reply.status == 200 or reply.error == "ResourceInUseException", reply.message


class Workload:
    """A name, a history, and the step of a client."""

    name = ""

    def __init__(self) -> None:
        self.history = History()

    def prepare(self, caller: Caller) -> None:
        """Write what the clients start from."""

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        """Make one step of a client."""
        raise NotImplementedError

    def check(self, caller: Caller) -> list[str]:
        """Return what is wrong, after all clients have stopped; the caller reads the end."""
        raise NotImplementedError


class Registers(Workload):
    """Puts, conditional puts and strong reads of single items; checked by porcupine."""

    name = "registers"

    def __init__(self, judge: Judge, registers: int = 4) -> None:
        super().__init__()
        self._judge = judge
        self._registers = registers
        self._steps = itertools.count()
        self._values = itertools.count(1)

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        round_number = next(self._steps) // (_REGISTER_STEPS * self._registers)
        name = f"{round_number}.{rng.randrange(self._registers)}"
        choice = rng.random()
        if choice < 0.5:
            self._read(process, caller, name)
        elif choice < 0.75:
            self._put(process, caller, name)
        else:
            self._swap(process, caller, name)

    def _read(self, process: int, caller: Caller, name: str) -> int:
        operation = Operation(process, "read")
        request = {"TableName": TABLE, "Key": key("register", name), "ConsistentRead": True}
        reply = self.history.record(operation, lambda: caller.call("GetItem", request))
        found = 0
        if reply is not None and operation.outcome == OK and "Item" in reply.body:
            found = int(reply.body["Item"]["v"]["N"])
        operation.read = {name: found}
        return found

    def _put(self, process: int, caller: Caller, name: str) -> None:
        value = next(self._values)
        operation = Operation(process, "put", {name: value})
        item = {**key("register", name), "v": {"N": str(value)}, "group": {"S": "registers"}}
        request = {"TableName": TABLE, "Item": item}
        self.history.record(operation, lambda: caller.call("PutItem", request))

    def _swap(self, process: int, caller: Caller, name: str) -> None:
        """Read, then replace what was read if it is still there."""
        expected = self._read(process, caller, name)
        value = next(self._values)
        operation = Operation(process, "swap", {name: value}, {name: expected})
        request: dict[str, Any] = {
            "TableName": TABLE,
            "Key": key("register", name),
            "UpdateExpression": "SET v = :new, #g = :g",
            "ExpressionAttributeNames": {"#g": "group"},
            "ExpressionAttributeValues": {":new": {"N": str(value)}, ":g": {"S": "registers"}},
        }
        if expected:
            request["ConditionExpression"] = "v = :old"
            request["ExpressionAttributeValues"][":old"] = {"N": str(expected)}
        else:
            request["ConditionExpression"] = "attribute_not_exists(v)"
        self.history.record(operation, lambda: caller.call("UpdateItem", request))

    def check(self, caller: Caller) -> list[str]:
        return self._judge(self.history.operations)


class Lists(Workload):
    """Appends to several lists in one transaction, and reads of several in one transaction."""

    name = "lists"

    def __init__(self, lists: int = 6) -> None:
        super().__init__()
        self._lists = lists
        self._steps = itertools.count()
        self._values = itertools.count(1)

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        # Lists are left for new ones, or they would grow until reads are slow.
        generation = next(self._steps) // (40 * self._lists)
        names = [f"{generation}.{number}" for number in range(self._lists)]
        chosen = rng.sample(names, rng.randint(1, 3))
        if rng.random() < 0.5:
            self._append(process, caller, chosen)
        else:
            self._read(process, caller, chosen)

    def _append(self, process: int, caller: Caller, names: Sequence[str]) -> None:
        wrote = {name: next(self._values) for name in names}
        operation = Operation(process, "append", dict(wrote))
        updates = [_append_of(name, value) for name, value in wrote.items()]
        if len(updates) == 1:
            self.history.record(operation, lambda: caller.call("UpdateItem", updates[0]))
        else:
            request = {"TransactItems": [{"Update": update} for update in updates]}
            self.history.record(operation, lambda: caller.call("TransactWriteItems", request))

    def _read(self, process: int, caller: Caller, names: Sequence[str]) -> None:
        operation = Operation(process, "read")
        keys = [{"TableName": TABLE, "Key": key("list", name)} for name in names]
        if len(keys) == 1:
            request: dict[str, Any] = {**keys[0], "ConsistentRead": True}
            reply = self.history.record(operation, lambda: caller.call("GetItem", request))
            answers = [reply.body] if reply is not None and operation.outcome == OK else []
        else:
            request = {"TransactItems": [{"Get": each} for each in keys]}
            reply = self.history.record(operation, lambda: caller.call("TransactGetItems", request))
            answers = reply.body["Responses"] if reply and operation.outcome == OK else []
        operation.read = dict(zip(names, map(_list_in, answers), strict=False))

    def check(self, caller: Caller) -> list[str]:
        names = {name for operation in self.history.operations for name in operation.wrote}
        for name in sorted(names):
            self._read(-1, caller, [name])
        return check_lists(self.history.operations)


def _append_of(name: str, value: int) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "Key": key("list", name),
        "UpdateExpression": "SET l = list_append(if_not_exists(l, :none), :v), #g = :g",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {
            ":none": {"L": []},
            ":v": {"L": [{"N": str(value)}]},
            ":g": {"S": f"lists{value % 3}"},
        },
    }


def _list_in(answer: dict[str, Any]) -> list[int]:
    return [int(value["N"]) for value in answer.get("Item", {}).get("l", {"L": []})["L"]]


class Bank(Workload):
    """Transfers between accounts, and sums of all accounts, which must always be the same."""

    name = "bank"

    def prepare(self, caller: Caller) -> None:
        for number in range(ACCOUNTS):
            item = {**key("account", number), "b": {"N": str(BALANCE)}, "group": {"S": "bank"}}
            reply = caller.call("PutItem", {"TableName": TABLE, "Item": item})
            assert reply.status == 200, reply.message

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        if rng.random() < 0.3:
            self._sum(process, caller)
            return
        source, target = rng.sample(range(ACCOUNTS), 2)
        amount = {":n": {"N": str(rng.randint(1, 30))}}
        request = {
            "TransactItems": [
                {"Update": _change(source, "SET b = b - :n", amount, "b >= :n")},
                {"Update": _change(target, "SET b = b + :n", amount, "attribute_exists(b)")},
            ]
        }
        operation = Operation(process, "transfer")
        self.history.record(operation, lambda: caller.call("TransactWriteItems", request))

    def _sum(self, process: int, caller: Caller) -> None:
        gets = [
            {"Get": {"TableName": TABLE, "Key": key("account", number)}}
            for number in range(ACCOUNTS)
        ]
        operation = Operation(process, "sum")
        request = {"TransactItems": gets}
        reply = self.history.record(operation, lambda: caller.call("TransactGetItems", request))
        if reply is not None and operation.outcome == OK:
            balances = [int(each["Item"]["b"]["N"]) for each in reply.body["Responses"]]
            operation.read = {str(number): balance for number, balance in enumerate(balances)}

    def check(self, caller: Caller) -> list[str]:
        self._sum(-1, caller)
        sums = [operation for operation in self.history.operations if operation.read]
        return [
            f"balances {list(operation.read.values())} do not add up to {ACCOUNTS * BALANCE}"
            for operation in sums
            if sum(operation.read.values()) != ACCOUNTS * BALANCE
            or min(operation.read.values()) < 0
        ]


def _change(account: int, update: str, values: dict[str, Any], condition: str) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "Key": key("account", account),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }


class Counters(Workload):
    """ADD 1 to a few counters; at the end each has what was acknowledged, plus unknown ones."""

    name = "counters"

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        name = str(rng.randrange(3))
        operation = Operation(process, "add", {name: 1})
        request = {
            "TableName": TABLE,
            "Key": key("counter", name),
            "UpdateExpression": "ADD n :one SET #g = :g",
            "ExpressionAttributeNames": {"#g": "group"},
            "ExpressionAttributeValues": {":one": {"N": "1"}, ":g": {"S": "counters"}},
        }
        self.history.record(operation, lambda: caller.call("UpdateItem", request))

    def check(self, caller: Caller) -> list[str]:
        problems = []
        for name in ("0", "1", "2"):
            mine = [each for each in self.history.operations if name in each.wrote]
            least = sum(each.outcome == OK for each in mine)
            most = least + sum(each.outcome == UNKNOWN for each in mine)
            request = {"TableName": TABLE, "Key": key("counter", name), "ConsistentRead": True}
            item = caller.call("GetItem", request).body.get("Item", {})
            found = int(item.get("n", {"N": "0"})["N"])
            if not least <= found <= most:
                problems.append(f"counter {name} is {found}, not between {least} and {most}")
        return problems
