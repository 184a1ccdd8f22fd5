"""Differences from DynamoDB Local that are right, because AWS answers otherwise.

Two kinds of rules: an adjustment makes the bodies of two successful (or alike failed) answers
comparable by taking out what differs rightly; an excuse accepts a pair of answers one of which is
an error. Each says why and what proves it. docs/compatibility.md has the same list.
"""

import copy
import dataclasses
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.differential.comparison import Answer
from tests.harness.endpoint import Reply


@dataclasses.dataclass(frozen=True)
class Case:
    """One request with both answers."""

    operation: str
    body: Any
    local: Answer
    ours: Answer


@dataclasses.dataclass(frozen=True)
class Rule:
    """Why a difference is right."""

    name: str
    reason: str
    evidence: str
    applies: Callable[[Case], bool]


ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "


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
        return format(Decimal(text).normalize(), "f")
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


def drop_free_reads(case: Case) -> bool:
    """Leave out capacity where DynamoDB Local counts a read that finds nothing as free."""
    is_changed = False
    for local, ours in bodies(case):
        if case.operation in ("Query", "Scan", "BatchGetItem"):
            before = capacities(local)
            if any(not part["CapacityUnits"] for part in before) or bool(before) != bool(
                capacities(ours)
            ):
                for body in (local, ours):
                    body.pop("ConsumedCapacity", None)
                is_changed = True
    return is_changed


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
        drop_free_reads,
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


def replies(case: Case) -> tuple[Reply, Reply]:
    return case.local.reply, case.ours.reply


def is_enveloped(case: Case) -> bool:
    local, ours = replies(case)
    return ours.error == local.error and ours.message == ENVELOPE + local.message


def is_prefixed(case: Case) -> bool:
    local, ours = replies(case)
    return ours.error == local.error and ours.message == INVALID + local.message


def is_local_failure(case: Case) -> bool:
    return case.local.reply.status == 500 and case.ours.reply.status == 400


def is_constraint(case: Case) -> bool:
    """Ours counts validation errors, DynamoDB Local refuses in words of its own."""
    local, ours = replies(case)
    text = r"^\d+ validation errors? detected: .*failed to satisfy constraint"
    return bool(
        local.status == ours.status == 400
        and re.search(text, ours.message)
        and not re.search(text, local.message)
    )


def is_mistyped(case: Case) -> bool:
    return case.ours.reply.error == "SerializationException"


def is_cancelled_update(case: Case) -> bool:
    local, ours = replies(case)
    return (
        case.operation == "TransactWriteItems"
        and local.error == "ValidationException"
        and ours.error == "TransactionCanceledException"
        and "ValidationError" in ours.message
    )


# DynamoDB Local's words, and AWS's for the same refusal.
REWORDED = (
    ("Cannot do operations on a non-existent table", "Requested resource not found"),
    ("Return values set to invalid value", "ReturnValues can only be ALL_OLD or NONE"),
    (
        "The number of conditions on the keys is invalid",
        "The provided key element does not match the schema",
    ),
    ("One of the required keys was not given a value", f"{INVALID}Missing the key"),
    (f"{INVALID}Type mismatch for key", f"{INVALID}Type mismatch for key"),
    (f"{INVALID}Type mismatch for Index Key", f"{INVALID}Type mismatch for Index Key"),
    ("DynamoDB only supports precision up to 38 digits", "Attempting to store more than 38"),
    ("A value provided cannot be converted into a number", "The parameter cannot be converted"),
    ("Query condition missed key schema element", "Query condition missed key schema element: "),
    (
        "Cannot specify the ProjectionExpression when choosing to get only the Count",
        f"{INVALID}Cannot specify the ProjectionExpression when choosing to get COUNT",
    ),
    (
        "The provided starting key does not match the range key predicate",
        "The provided starting key is outside query boundaries based on provided conditions",
    ),
    ("Cannot create preexisting table", "Table already exists: "),
)


def is_reworded(case: Case) -> bool:
    local, ours = replies(case)
    text = ours.message.removeprefix(ENVELOPE)
    return ours.error == local.error and any(
        local.message.startswith(theirs) and text.startswith(words) for theirs, words in REWORDED
    )


RULES = (
    Rule(
        "envelope",
        "PutItem, UpdateItem and DeleteItem put refusals of values and expressions after "
        "'1 validation error detected: '",
        "AWS's wording since 2026",
        is_enveloped,
    ),
    Rule(
        "prefix",
        "some refusals begin with 'One or more parameter values were invalid: '",
        "AWS's wording since 2026",
        is_prefixed,
    ),
    Rule(
        "failure of DynamoDB Local",
        "DynamoDB Local breaks with an internal failure where AWS refuses the request",
        "AWS answers malformed requests with SerializationException or ValidationException",
        is_local_failure,
    ),
    Rule(
        "constraints",
        "parameters out of range are counted: 'N validation errors detected: …'",
        "dynamodb-conformance tier3/error-messages and tier3/validation-ordering",
        is_constraint,
    ),
    Rule(
        "mistyped JSON",
        "JSON of the wrong type is a SerializationException, DynamoDB Local converts it or "
        "words it otherwise",
        "dynalite's recorded answers",
        is_mistyped,
    ),
    Rule(
        "refused updates in transactions",
        "an update that cannot be carried out cancels the transaction with ValidationError",
        "API reference, TransactWriteItems: cancellation reasons",
        is_cancelled_update,
    ),
    Rule(
        "wording",
        "the same refusal in AWS's words",
        "dynamodb-conformance tier3/error-messages; dynalite's recorded answers",
        is_reworded,
    ),
)


def adjusted(case: Case) -> tuple[Case, list[str]]:
    """Return the case with rightful differences of bodies taken out, and the rules used."""
    found = Case(case.operation, case.body, copy.deepcopy(case.local), copy.deepcopy(case.ours))
    if not isinstance(found.body, dict):
        return found, []
    return found, [rule.name for rule in ADJUSTMENTS if rule.applies(found)]


def explain(case: Case) -> Rule | None:
    """Return the first rule that excuses a case."""
    return next((rule for rule in RULES if rule.applies(case)), None)
