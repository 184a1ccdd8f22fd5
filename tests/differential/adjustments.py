"""What differs rightly within two successful (or alike failed) answers, and is made comparable."""

import copy
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.differential.cases import Case, Rule


def every_mapping(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all JSON objects in a body."""
    if isinstance(node, dict):
        yield node
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from every_mapping(child)


def bodies(case: Case) -> Iterator[tuple[Any, Any]]:
    """Yield the bodies of both answers page by page."""
    yield case.local.reply.body, case.ours.reply.body
    yield from zip(case.local.pages, case.ours.pages, strict=False)


def plain_number(text: str) -> str:
    try:
        return format(Decimal(text).normalize() + 0, "f")
    except InvalidOperation:
        return text


def normalise_numbers(case: Case) -> bool:
    """Write numbers alike; DynamoDB Local keeps many as they were given."""
    is_changed = False
    for answer in (case.local, case.ours):
        for node in every_mapping([answer.reply.body, answer.pages]):
            for key in ("N", "NS"):
                value = node.get(key)
                if isinstance(value, str):
                    node[key] = plain_number(value)
                elif isinstance(value, list) and all(isinstance(v, str) for v in value):
                    node[key] = [plain_number(v) for v in value]
                is_changed |= answer is case.local and node.get(key) != value
    return is_changed


def capacities(body: Any) -> list[dict[str, Any]]:
    found = body.get("ConsumedCapacity") if isinstance(body, dict) else None
    return found if isinstance(found, list) else [found] if isinstance(found, dict) else []


def add_free_reads(case: Case) -> bool:
    """Charge DynamoDB Local the minimum for reads that find nothing, which it counts as free."""
    is_changed = False
    for local, ours in bodies(case):
        for left, right in pairs_of_tables(local, ours):
            missing = right["CapacityUnits"] - left["CapacityUnits"]
            if missing > 0 and missing == free_units(case, local, left):
                left.update(copy.deepcopy(right))
                is_changed = True
    return is_changed


def free_units(case: Case, local: Any, capacity: dict[str, Any]) -> float:
    """Return what the reads of a table that found nothing cost."""
    if case.operation in ("Query", "Scan"):
        is_consistent = case.body.get("ConsistentRead") is True
        return 0.0 if capacity["CapacityUnits"] else 1.0 if is_consistent else 0.5
    if case.operation != "BatchGetItem":
        return 0.0
    name = capacity["TableName"]
    wanted = case.body["RequestItems"][name]
    absent = len(wanted["Keys"]) - len(local["Responses"].get(name, []))
    return absent * (1.0 if wanted.get("ConsistentRead") is True else 0.5)


def pairs_of_tables(local: Any, ours: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return what both say on the capacity of each table."""
    theirs = {part["TableName"]: part for part in capacities(local)}
    return [(theirs[p["TableName"]], p) for p in capacities(ours) if p["TableName"] in theirs]


def drop_unasked_capacity(case: Case) -> bool:
    """Leave out capacity that DynamoDB Local reports to those who did not ask."""
    if case.body.get("ReturnConsumedCapacity") not in (None, "NONE"):
        return False
    found = [local.pop("ConsumedCapacity", None) for local, ours in bodies(case) if local]
    return any(found)


def drop_unit_kinds(case: Case) -> bool:
    """Leave out the read and write units which only AWS reports for transactions."""
    is_changed = False
    for local, ours in bodies(case):
        for left, right in zip(capacities(local), capacities(ours), strict=False):
            for unit in ("ReadCapacityUnits", "WriteCapacityUnits"):
                for node in every_mapping(right):
                    if unit in node and not any(unit in other for other in every_mapping(left)):
                        del node[unit]
                        is_changed = True
    return is_changed


def deletes_of(case: Case, table: str) -> int:
    """Return how many deletes a batch or a transaction has for a table."""
    if case.operation == "BatchWriteItem":
        return sum("DeleteRequest" in part for part in case.body["RequestItems"][table])
    actions = (part.get("Delete") or {} for part in case.body["TransactItems"])
    return sum(action.get("TableName") == table for action in actions)


def align_absent_deletes(case: Case) -> bool:
    """Charge deletes of absent items once in a batch and twice in a transaction.

    DynamoDB Local does it the other way round.
    """
    if case.operation not in ("BatchWriteItem", "TransactWriteItems"):
        return False
    is_changed = False
    for left, right in pairs_of_tables(case.local.reply.body, case.ours.reply.body):
        sides = [side.get("Table", side) for side in (left, right)]
        surplus = sides[0]["CapacityUnits"] - sides[1]["CapacityUnits"]
        wanted = surplus if case.operation == "BatchWriteItem" else -surplus
        if 0 < wanted <= deletes_of(case, left["TableName"]):
            left["CapacityUnits"] -= surplus
            if "Table" in left:
                left["Table"]["CapacityUnits"] -= surplus
            is_changed = True
    return is_changed


def halve_index_units(case: Case) -> bool:
    """Charge indexes once in a transaction, which DynamoDB Local does twice."""
    if case.operation != "TransactWriteItems":
        return False
    is_changed = False
    for left, right in pairs_of_tables(case.local.reply.body, case.ours.reply.body):
        if "Table" not in left:
            # Table and index units in one sum: at most all of them are doubled.
            if right["CapacityUnits"] < left["CapacityUnits"] <= 2 * right["CapacityUnits"]:
                left["CapacityUnits"] = right["CapacityUnits"]
                is_changed = True
            continue
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            for arm in left.get(member, {}).values():
                arm["CapacityUnits"] /= 2
                left["CapacityUnits"] -= arm["CapacityUnits"]
                is_changed = True
    return is_changed


def is_collection_metrics(node: Any, body: Any) -> bool:
    """Tell whether this is what AWS says of an item collection."""
    return (
        isinstance(node, dict)
        and set(node) == {"ItemCollectionKey", "SizeEstimateRangeGB"}
        and len(node["ItemCollectionKey"]) == 1
        and node["SizeEstimateRangeGB"] == [0.0, 1.0]
        and all(value in str(body) for value in map(str, node["ItemCollectionKey"].values()))
    )


def drop_collection_metrics(case: Case) -> bool:
    """Leave out the collection metrics, which DynamoDB Local never returns, if they are right."""
    ours = case.ours.reply.body
    if not isinstance(ours, dict) or "ItemCollectionMetrics" not in ours:
        return False
    if case.body.get("ReturnItemCollectionMetrics") != "SIZE":
        return False
    found = ours["ItemCollectionMetrics"]
    single = case.operation in ("PutItem", "UpdateItem", "DeleteItem")
    members = [found] if single else [m for part in found.values() for m in part]
    if members and all(is_collection_metrics(member, case.body) for member in members):
        del ours["ItemCollectionMetrics"]
        return True
    return False


def drop_empty_last_page(case: Case) -> bool:
    """Leave out the empty page after a full one that DynamoDB Local knows to be the last."""
    local, ours = case.local.pages, case.ours.pages
    if case.operation != "Query" or not local or len(ours) != len(local) + 1:
        return False
    if ours[-1].get("ScannedCount"):
        return False
    ours.pop()
    ours[-1].pop("LastEvaluatedKey", None)
    return True


def drop_full_stops(case: Case) -> bool:
    """Drop the full stop DynamoDB Local puts behind the message of a failed condition."""
    is_changed = False
    for node in every_mapping(case.local.reply.body):
        if node.get("Message") == "The conditional request failed.":
            node["Message"] = "The conditional request failed"
            is_changed = True
    return is_changed


def drop_throughputs(case: Case) -> bool:
    """Leave out parts of table descriptions that DynamoDB Local lacks."""
    if case.operation not in ("CreateTable", "DescribeTable", "UpdateTable"):
        return False
    is_changed = False
    for node in every_mapping(case.ours.reply.body):
        is_changed |= node.pop("WarmThroughput", None) is not None
        if "IndexName" in node and node.get("ProvisionedThroughput") == {
            "ReadCapacityUnits": 0,
            "WriteCapacityUnits": 0,
        }:
            del node["ProvisionedThroughput"]
            is_changed = True
    return is_changed


ADJUSTMENTS = (
    Rule(
        "number notation",
        "numbers come back in plain notation (7, 0.5, 100), DynamoDB Local often returns the "
        "text it was given (+7, .5, 1e2)",
        "dynamodb-conformance tier3/limits/numberPrecision",
        normalise_numbers,
    ),
    Rule(
        "empty reads",
        "a read that finds nothing costs the minimum of 0.5 (or 1.0) units, in DynamoDB Local 0",
        "Developer Guide, read and write operations: a read of an item that does not exist "
        "consumes read units",
        add_free_reads,
    ),
    Rule(
        "capacity unasked",
        "ConsumedCapacity is returned on request only, DynamoDB Local adds it to some answers",
        "API reference, ReturnConsumedCapacity: NONE",
        drop_unasked_capacity,
    ),
    Rule(
        "transaction units",
        "transactions report ReadCapacityUnits and WriteCapacityUnits too",
        "API reference, TransactGetItems: sample answers",
        drop_unit_kinds,
    ),
    Rule(
        "deletes of absent items",
        "a delete of an item that does not exist costs one unit, in a transaction two; in "
        "DynamoDB Local two in a batch and one in a transaction",
        "Developer Guide, write units: a delete of an item that does not exist costs one; "
        "transactions cost twice as much",
        align_absent_deletes,
    ),
    Rule(
        "capacity of indexes in transactions",
        "a transaction doubles the units of the table, DynamoDB Local those of its indexes too",
        "dynamodb-conformance tier2/transactions; Developer Guide, write units of transactions",
        halve_index_units,
    ),
    Rule(
        "collection metrics",
        "writes to tables with local indexes tell the size of the item collection if asked to",
        "API reference, ItemCollectionMetrics",
        drop_collection_metrics,
    ),
    Rule(
        "last page",
        "a page ending at its Limit has a LastEvaluatedKey even when nothing can follow",
        "API reference, Query: LastEvaluatedKey does not mean that there is more",
        drop_empty_last_page,
    ),
    Rule(
        "failed condition in a transaction",
        "the reason's message has no full stop",
        "dynamodb-conformance tier2/transactions",
        drop_full_stops,
    ),
    Rule(
        "throughput descriptions",
        "warm throughput, and zero throughput of indexes of on-demand tables, are described",
        "API reference, TableDescription and GlobalSecondaryIndexDescription",
        drop_throughputs,
    ),
)
