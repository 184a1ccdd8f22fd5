"""Further workloads: client tokens that are used again, and items renewed while they expire."""

from __future__ import annotations

import random
import time
import uuid
from typing import Any

from tests.consistency.history import OK, REFUSED, UNKNOWN, Operation, outcome_of
from tests.consistency.workloads import TABLE, Caller, Workload, key
from tests.faults.served import NoAnswerError

_ATTEMPTS_MAX = 6
_FAR_SECONDS = 1_000_000
_WAITING_MAX = 5


class Tokens(Workload):
    """Transactions with a client token, sent again until it is known what became of them.

    However often a token was sent, its transaction is carried out once: both counters of a pair are
    equal, and are what was acknowledged, plus at most what stayed unknown.
    """

    name = "tokens"

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        pair = str(rng.randrange(3))
        token = str(uuid.UUID(int=rng.getrandbits(128)))
        parts = [{"Update": _count(pair, half)} for half in ("left", "right")]
        request = {"TransactItems": parts, "ClientRequestToken": token}
        operation = Operation(process, "token", {pair: token})
        operation.called = time.monotonic_ns()
        outcomes: set[str] = set()
        for _ in range(_ATTEMPTS_MAX):
            try:
                outcomes.add(outcome_of(caller.call("TransactWriteItems", request)))
            except NoAnswerError:
                outcomes.add(UNKNOWN)
            except ConnectionError:
                if not outcomes:
                    raise
            # A refusal is final only if no earlier attempt may have been carried out.
            if OK in outcomes or UNKNOWN not in outcomes:
                break
        operation.outcome = OK if OK in outcomes else UNKNOWN if UNKNOWN in outcomes else REFUSED
        operation.returned = time.monotonic_ns()
        self.history.add(operation)

    def check(self, caller: Caller) -> list[str]:
        problems = []
        for pair in ("0", "1", "2"):
            mine = [each for each in self.history.operations if pair in each.wrote]
            least = sum(each.outcome == OK for each in mine)
            most = least + sum(each.outcome == UNKNOWN for each in mine)
            left, right = (_counted(caller, pair, half) for half in ("left", "right"))
            if left != right or not least <= left <= most:
                problems.append(f"pair {pair} is {left}, {right}, not between {least} and {most}")
        return problems


def _count(pair: str, half: str) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "Key": key("token", f"{pair}.{half}"),
        "UpdateExpression": "ADD n :one SET #g = :g",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {":one": {"N": "1"}, ":g": {"S": "tokens"}},
    }


def _counted(caller: Caller, pair: str, half: str) -> int:
    request = {"TableName": TABLE, "Key": key("token", f"{pair}.{half}"), "ConsistentRead": True}
    item = caller.call("GetItem", request).body.get("Item", {})
    return int(item.get("n", {"N": "0"})["N"])


class Renewals(Workload):
    """Items that have expired already, some of which are renewed before they are deleted.

    An item whose renewal was acknowledged is never deleted.
    """

    name = "renewals"

    def __init__(self) -> None:
        super().__init__()
        # Of each client: the items that it has put and may renew.
        self._waiting: dict[int, list[str]] = {}

    def prepare(self, caller: Caller) -> None:
        setting = {"AttributeName": "ttl", "Enabled": True}
        request = {"TableName": TABLE, "TimeToLiveSpecification": setting}
        reply = caller.call("UpdateTimeToLive", request)
        assert reply.status == 200, reply.message

    def step(self, process: int, caller: Caller, rng: random.Random) -> None:
        waiting = self._waiting.setdefault(process, [])
        if len(waiting) < _WAITING_MAX:
            name = f"{process}.{rng.getrandbits(64):x}"
            waiting.append(name)
            item = {**key("renewal", name), "ttl": {"N": str(int(time.time()) - 1)}}
            operation = Operation(process, "put", {name: ""})
            request = {"TableName": TABLE, "Item": item | {"group": {"S": "renewals"}}}
            self.history.record(operation, lambda: caller.call("PutItem", request))
        else:
            self._renew(process, caller, waiting.pop(rng.randrange(_WAITING_MAX)))

    def _renew(self, process: int, caller: Caller, name: str) -> None:
        request = {
            "TableName": TABLE,
            "Key": key("renewal", name),
            "UpdateExpression": "SET #t = :t",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeNames": {"#t": "ttl"},
            "ExpressionAttributeValues": {":t": {"N": str(int(time.time()) + _FAR_SECONDS)}},
        }
        operation = Operation(process, "renew", {name: ""})
        self.history.record(operation, lambda: caller.call("UpdateItem", request))

    def check(self, caller: Caller) -> list[str]:
        problems = []
        soon = time.time() + _FAR_SECONDS / 2
        for operation in self.history.operations:
            if operation.kind != "renew" or operation.outcome != OK:
                continue
            (name,) = operation.wrote
            request = {"TableName": TABLE, "Key": key("renewal", name), "ConsistentRead": True}
            item = caller.call("GetItem", request).body.get("Item")
            if item is None:
                problems.append(f"item {name} was deleted although it was renewed")
            elif int(item["ttl"]["N"]) < soon:
                problems.append(f"the renewal of item {name} is lost")
        return problems
