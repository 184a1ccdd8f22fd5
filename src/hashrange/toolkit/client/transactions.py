"""Transactions: a list of steps that happen together or not at all, with readable reasons.

    with_steps = Transaction()
    with_steps.update("Accounts", {"PK": "ACCOUNT#1"}, "SET balance = balance - :amount",
                      condition="balance >= :amount", values={"amount": 10},
                      message="insufficient funds")

The request carries a token, so that sending it again after a lost answer has no second effect.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict, final

from hashrange.toolkit.client.expressions import Expressions
from hashrange.toolkit.client.operations import Key
from hashrange.toolkit.client.plans import Call, Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy, attempt
from hashrange.toolkit.errors import (
    CancellationReason,
    DesignError,
    RequestRefused,
    TransactionFailed,
)
from hashrange.toolkit.values import Item, from_wire_item, to_wire_item

STEPS_MAX: Final = 100
_READABLE: Final = {
    "ConditionalCheckFailed": "the condition does not hold",
    "DuplicateItem": "an item with this key exists already",
    "ItemCollectionSizeLimitExceeded": "the item collection would exceed 10 GB",
    "ProvisionedThroughputExceeded": "the provisioned throughput is exhausted",
    "ThrottlingError": "the request was throttled",
    "TransactionConflict": "another request was changing this item",
    "ValidationError": "the step is not valid",
}


class StepOptions(TypedDict, total=False):
    """Options of a step: its condition, the :parameters, and the message if the condition fails."""

    condition: str
    values: Mapping[str, Any]
    message: str


@final
class Transaction:
    """Steps to be carried out together; at most 100, and no two on the same item."""

    def __init__(
        self, *, token: str = "", policy: RetryPolicy = DEFAULT_POLICY, floats: bool = False
    ) -> None:
        self.token = token or secrets.token_hex(16)
        self._policy = policy
        self._floats = floats
        self._steps: list[dict[str, Any]] = []
        self._labels: list[str] = []
        self._messages: list[str] = []

    def __len__(self) -> int:
        return len(self._steps)

    def put(self, table: str, item: Mapping[str, Any], **options: Any) -> Transaction:
        """Write a whole item. Options as of StepOptions."""
        return self.put_wire(table, to_wire_item(item, floats=self._floats), **options)

    def put_wire(self, table: str, item: Item, **options: Any) -> Transaction:
        """Write a whole item that is in API form already. Options as of StepOptions."""
        return self._add("Put", table, {"Item": item}, "", options)

    def update(self, table: str, key: Key, expression: str, **options: Any) -> Transaction:
        """Update an item by an expression. Options as of StepOptions."""
        wire = {"Key": to_wire_item(key, floats=self._floats)}
        return self._add("Update", table, wire, expression, options)

    def delete(self, table: str, key: Key, **options: Any) -> Transaction:
        """Delete an item. Options as of StepOptions."""
        wire = {"Key": to_wire_item(key, floats=self._floats)}
        return self._add("Delete", table, wire, "", options)

    def check(self, table: str, key: Key, **options: Any) -> Transaction:
        """Require a condition on an item that is not written. Options as of StepOptions."""
        wire = {"Key": to_wire_item(key, floats=self._floats)}
        return self._add("ConditionCheck", table, wire, "", options)

    def _add(
        self, verb: str, table: str, body: dict[str, Any], expression: str, options: dict[str, Any]
    ) -> Transaction:
        unknown = options.keys() - StepOptions.__annotations__.keys()
        if unknown:
            raise DesignError(f"unknown options of a step: {', '.join(sorted(unknown))}")
        expressions = Expressions(options.get("values"), floats=self._floats)
        step = {"TableName": table, **body}
        if expression:
            step["UpdateExpression"] = expressions.text(expression)
        if condition := options.get("condition"):
            step["ConditionExpression"] = expressions.text(condition)
            step["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        elif verb == "ConditionCheck":
            raise DesignError("a check needs a condition")
        self._steps.append({verb: {**step, **expressions.parameters()}})
        self._labels.append(f"{verb} on {table}")
        self._messages.append(str(options.get("message", "")))
        return self

    def plan(self) -> Plan[None]:
        """Carry out the steps; TransactionFailed says which of them could not be."""
        if not self._steps:
            return
        if len(self._steps) > STEPS_MAX:
            raise DesignError(f"a transaction has at most {STEPS_MAX} steps, not {len(self)}")
        parameters = {"TransactItems": self._steps, "ClientRequestToken": self.token}
        try:
            yield from attempt(Call("transact_write_items", parameters), self._policy)
        except RequestRefused as error:
            reasons = self._reasons(error)
            if not reasons:
                raise
            raise TransactionFailed(reasons) from error.__cause__

    def _reasons(self, error: RequestRefused) -> list[CancellationReason]:
        response = getattr(error.__cause__, "response", None) or {}
        reasons = []
        for at, each in enumerate(response.get("CancellationReasons", [])):
            code = str(each.get("Code", "None"))
            if code != "None":
                own = self._messages[at] if code == "ConditionalCheckFailed" else ""
                message = own or _READABLE.get(code) or str(each.get("Message", ""))
                item = from_wire_item(each["Item"]) if each.get("Item") else None
                reasons.append(CancellationReason(at, self._labels[at], code, message, item))
        return reasons


def transact_get(
    keys: Sequence[tuple[str, Key]], policy: RetryPolicy = DEFAULT_POLICY
) -> Plan[list[Item | None]]:
    """Return items, in API form, as they are at one moment; None where there is none."""
    gets = [{"Get": {"TableName": table, "Key": to_wire_item(key)}} for table, key in keys]
    answer = yield from attempt(Call("transact_get_items", {"TransactItems": gets}), policy)
    return [each.get("Item") or None for each in answer.get("Responses", [])]
