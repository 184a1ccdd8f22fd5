"""Rows of the authorisation table for items: single ones, batches, pages and transactions."""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.access.demands import Demand, Row, table_demand
from hashrange.api.access.item_keys import ItemKeys
from hashrange.api.operation import Request
from hashrange.api.scope import RequestScope

# The action that each member of a transaction's entry is authorised as.
_STEPS: Final = {
    "ConditionCheck": "ConditionCheckItem",
    "Delete": "DeleteItem",
    "Get": "GetItem",
    "Put": "PutItem",
    "Update": "UpdateItem",
}


def item_row(action: str) -> Row:
    """Return the row of an operation on one table that is authorised under its own name."""
    full = f"dynamodb:{action}"

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        keys = ItemKeys(action, [request], request.get("ReturnConsumedCapacity"))
        return [table_demand(scope, full, request["TableName"], keys)]

    return demands


def page_row(action: str) -> Row:
    """Return the row of Query or Scan, which may read an index instead."""
    full = f"dynamodb:{action}"

    def demands(scope: RequestScope, request: Request) -> list[Demand]:
        keys = ItemKeys(action, [request], request.get("ReturnConsumedCapacity"))
        index = request.get("IndexName") or ""
        return [table_demand(scope, full, request["TableName"], keys, index)]

    return demands


def batch_get_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand the tables of BatchGetItem, each with all its keys."""
    found = []
    for name, part in request["RequestItems"].items():
        entries = [{"Key": key} for key in part["Keys"]]
        # Key names count as attributes through the entries; the rest is shared by all keys.
        entries.append({member: part[member] for member in part if member != "Key"})
        keys = ItemKeys("BatchGetItem", entries, request.get("ReturnConsumedCapacity"))
        found.append(table_demand(scope, "dynamodb:BatchGetItem", name, keys))
    return found


def batch_write_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand the tables of BatchWriteItem, each with all its keys."""
    found = []
    for name, writes in request["RequestItems"].items():
        entries: list[dict[str, Any]] = []
        for write in writes:
            if write.get("PutRequest") is not None:
                entries.append({"Item": write["PutRequest"]["Item"]})
            if write.get("DeleteRequest") is not None:
                entries.append({"Key": write["DeleteRequest"]["Key"]})
        keys = ItemKeys("BatchWriteItem", entries, request.get("ReturnConsumedCapacity"))
        found.append(table_demand(scope, "dynamodb:BatchWriteItem", name, keys))
    return found


def transaction_row(scope: RequestScope, request: Request) -> list[Demand]:
    """Demand each entry of a transaction under the name of what it does."""
    found = []
    for entry in request["TransactItems"]:
        for member, action in _STEPS.items():
            step = entry.get(member)
            if step is not None:
                capacity = request.get("ReturnConsumedCapacity")
                keys = ItemKeys(action, [step], capacity, scope.operation)
                found.append(table_demand(scope, f"dynamodb:{action}", step["TableName"], keys))
    return found


ITEM_ROWS: Final[dict[str, Row]] = {
    "BatchGetItem": batch_get_row,
    "BatchWriteItem": batch_write_row,
    "DeleteItem": item_row("DeleteItem"),
    "GetItem": item_row("GetItem"),
    "PutItem": item_row("PutItem"),
    "Query": page_row("Query"),
    "Scan": page_row("Scan"),
    "TransactGetItems": transaction_row,
    "TransactWriteItems": transaction_row,
    "UpdateItem": item_row("UpdateItem"),
}
