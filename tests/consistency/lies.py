"""Connections that lie in one planted way, to show that the checkers find it."""

from __future__ import annotations

import random
import time
from typing import Any

from tests.consistency.workloads import Caller
from tests.harness.endpoint import Reply

_RATE = 0.1


class Liar:
    """A connection that passes on requests, except that now and then it does one wrong thing."""

    def __init__(self, caller: Caller, lie: str, rng: random.Random) -> None:
        self._caller = caller
        self._lie = getattr(self, f"_{lie}")
        self._rng = rng
        self._last_reads: dict[str, Reply] = {}

    def call(self, operation: str, request: dict[str, Any]) -> Reply:
        """Send a request, or lie."""
        lied: Reply | None = self._lie(operation, request)
        return self._caller.call(operation, request) if lied is None else lied

    def close(self) -> None:
        """Close the connection."""
        self._caller.close()

    def _is_time(self) -> bool:
        return self._rng.random() < _RATE

    def _stale_read(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Answer a strong read with what was there the last time."""
        if operation != "GetItem":
            return None
        name = str(request["Key"])
        stale = self._last_reads.get(name)
        if stale is None:
            self._last_reads[name] = self._caller.call(operation, request)
            return self._last_reads[name]
        return stale if self._is_time() else None

    def _lost_write(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Acknowledge a write that was not made."""
        is_lost = operation in ("PutItem", "UpdateItem", "TransactWriteItems") and self._is_time()
        return Reply(200, "", "", {}) if is_lost else None

    def _torn_transaction(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Make the writes of a transaction one after the other."""
        if operation != "TransactWriteItems" or not self._is_time():
            return None
        for part in request["TransactItems"]:
            reply = self._caller.call("UpdateItem", part["Update"])
            if reply.status != 200:
                return reply
            time.sleep(0.005)
        return Reply(200, "", "", {})

    def _fractured_read(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Read the items of a transaction one after the other."""
        if operation != "TransactGetItems" or not self._is_time():
            return None
        answers = []
        for part in request["TransactItems"]:
            read = {**part["Get"], "ConsistentRead": True}
            answers.append(self._caller.call("GetItem", read).body)
            time.sleep(0.005)
        return Reply(200, "", "", {"Responses": answers})

    def _denied_write(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Make a write and say that it was refused."""
        if operation not in ("UpdateItem", "TransactWriteItems") or not self._is_time():
            return None
        self._caller.call(operation, request)
        return Reply(400, "TransactionConflictException", "", {})

    def _repeated_write(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Make a write twice, as a client that tries again without knowing would."""
        if operation not in ("UpdateItem", "TransactWriteItems") or not self._is_time():
            return None
        self._caller.call(operation, request)
        return None

    def _forgotten_token(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Carry out a transaction as if its client token had never been seen."""
        if operation != "TransactWriteItems" or not self._is_time():
            return None
        self._caller.call(operation, {"TransactItems": request["TransactItems"]})
        return None

    def _premature_expiry(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Delete an item as expired right after it was renewed."""
        if operation != "UpdateItem" or not self._is_time():
            return None
        reply = self._caller.call(operation, request)
        self._caller.call("DeleteItem", {name: request[name] for name in ("TableName", "Key")})
        return reply

    def _kept_items(self, operation: str, request: dict[str, Any]) -> Reply | None:
        """Have an item of an earlier table in a table that is made again."""
        if operation != "CreateTable":
            return None
        reply = self._caller.call(operation, request)
        item = {"pk": {"S": "old"}, "group": {"S": "old"}}
        self._caller.call("PutItem", {"TableName": request["TableName"], "Item": item})
        return reply
