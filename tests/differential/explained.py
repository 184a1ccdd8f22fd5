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
from tests.differential.wording import (
    ENVELOPE,
    INVALID,
    NOT_REFUSED,
    REWORDED,
    REWORDED_TABLES,
    RUN_TIME_REFUSALS,
    VALUES_STEP,
    step_of,
)
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


WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")


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


def drop_free_reads(case: Case) -> bool:
    """Leave out capacity where DynamoDB Local counts a read that finds nothing as free."""
    if case.operation not in ("Query", "Scan", "BatchGetItem"):
        return False
    is_changed = False
    for local, ours in bodies(case):
        totals = [sum(part["CapacityUnits"] for part in capacities(b)) for b in (local, ours)]
        is_free = totals[0] == 0 or case.operation == "BatchGetItem"
        if is_free and totals[0] < totals[1] and capacities(local):
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


def drop_index_writes(case: Case) -> bool:
    """Leave out capacity of writes where DynamoDB Local charges indexes for more entries."""
    local, ours = capacities(case.local.reply.body), capacities(case.ours.reply.body)
    is_write = case.operation in WRITES and len(local) == len(ours)
    totals = [sum(part["CapacityUnits"] for part in side) for side in (local, ours)]
    if not is_write or totals[0] == totals[1]:
        return False
    if totals[0] < totals[1] and case.operation != "TransactWriteItems":
        return False
    for body in (case.local.reply.body, case.ours.reply.body):
        body.pop("ConsumedCapacity", None)
    return True


def drop_empty_last_page(case: Case) -> bool:
    """Leave out the empty page after a full one that DynamoDB Local knows to be the last."""
    local, ours = case.local.pages, case.ours.pages
    if case.operation != "Query" or len(ours) != len(local) + 1 or ours[-1].get("ScannedCount"):
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
        "capacity of indexes",
        "an index is charged for entries that change; DynamoDB Local also charges it for items "
        "that are not in it and twice for entries that grow, and doubles it in transactions",
        "Developer Guide, write capacity of global and local secondary indexes",
        drop_index_writes,
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
    """Ours counts validation errors; DynamoDB Local words them freely, or does not care."""
    local, ours = replies(case)
    text = r"^\d+ validation errors? detected: .*failed to satisfy constraint"
    if not re.search(text, ours.message) or re.search(text, local.message):
        return False
    return local.status in (200, 400)


def is_mistyped(case: Case) -> bool:
    return case.ours.reply.error == "SerializationException"


def is_cancelled(case: Case) -> bool:
    """Ours cancels with a reason; DynamoDB Local refuses as a whole, or updates an index key."""
    return (
        case.operation in ("TransactWriteItems", "TransactGetItems")
        and case.ours.reply.error == "TransactionCanceledException"
        and "ValidationError" in case.ours.reply.message
        and (case.local.reply.status == 400 or case.operation == "TransactWriteItems")
        and "cancellation reasons" not in case.local.reply.message
    )


def is_reworded(case: Case) -> bool:
    local, ours = replies(case)
    text = ours.message.removeprefix(ENVELOPE)
    return ours.error == local.error and any(
        local.message.startswith(theirs) and text.startswith(words)
        for theirs, words in (*REWORDED, *REWORDED_TABLES)
    )


def is_accepted_by_local(case: Case) -> bool:
    """DynamoDB Local makes tables that AWS refuses."""
    return (
        case.operation in ("CreateTable", "UpdateTable")
        and case.local.reply.status == 200
        and any(case.ours.reply.message.startswith(f"{INVALID}{text}") for text in NOT_REFUSED)
    )


def same_words(case: Case) -> bool:
    """The texts differ in the order of a set, or in how a number or binary is written."""
    local, ours = replies(case)
    texts = [
        sorted(re.split(r"\W+", re.sub(r"\{[BN]:.*?\}", "", message)))
        for message in (local.message, ours.message.removeprefix(ENVELOPE))
    ]
    return ours.error == local.error and texts[0] == texts[1]


def is_overlap(case: Case) -> bool:
    local, ours = replies(case)
    start = "Invalid UpdateExpression: Two document paths "
    return local.message.startswith(start) and ours.message.removeprefix(ENVELOPE).startswith(start)


def is_earlier(case: Case) -> bool:
    """Both refuse; ours for a reason AWS looks at earlier."""
    local, ours = replies(case)
    words = [f"{reply.error} {reply.message}" for reply in (local, ours)]
    kinds = [re.search(r"Invalid \w+Expression|choosing to get|can be used only", w) for w in words]
    is_other = kinds[0] and kinds[1] and kinds[0].group() != kinds[1].group()
    is_before = step_of(words[1]) < step_of(words[0])
    return local.status == ours.status == 400 and bool(is_before or is_other)


def is_several(case: Case) -> bool:
    """An update with several faults; DynamoDB Local finds them in the order of a hash table."""
    return all(reply.message in RUN_TIME_REFUSALS for reply in replies(case))


def is_wrapped(case: Case) -> bool:
    """DynamoDB Local names the placeholder of a bad value, and words the value freely."""
    local, ours = replies(case)
    start = "ExpressionAttributeValues contains invalid value: "
    return local.message.startswith(start) and step_of(ours.message) == VALUES_STEP


def is_index_key(case: Case) -> bool:
    """DynamoDB Local lets some updates give an index key another type."""
    local, ours = replies(case)
    return local.status == 200 and "Type mismatch for Index Key" in ours.message


def is_mixed_batch(case: Case) -> bool:
    return (
        case.operation == "BatchGetItem"
        and case.local.reply.message.startswith("Can not use both expression and non-expression")
        and case.ours.reply.status == 200
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
        "refusals in transactions",
        "a key or an update that does not fit the item or its indexes cancels the transaction with "
        "ValidationError",
        "API reference, TransactWriteItems: cancellation reasons",
        is_cancelled,
    ),
    Rule(
        "wording",
        "the same refusal in AWS's words",
        "dynamodb-conformance tier3/error-messages; dynalite's recorded answers",
        is_reworded,
    ),
    Rule(
        "tables AWS refuses",
        "contradictory or superfluous settings of a table are refused",
        "dynamodb-conformance tier1/createTable and tier3/error-messages",
        is_accepted_by_local,
    ),
    Rule(
        "order and notation within a text",
        "sets inside of messages are in another order; numbers are shown in plain notation, "
        "binary as base64",
        "DynamoDB Local prints Java's hash sets and buffers",
        same_words,
    ),
    Rule(
        "overlapping paths",
        "the second of two overlapping paths named may be another one",
        "DynamoDB Local names one by the order of a hash table",
        is_overlap,
    ),
    Rule(
        "several faults in an update",
        "any of several faults may be the one reported",
        "DynamoDB Local finds them in the order of a hash table",
        is_several,
    ),
    Rule(
        "bad values of expressions",
        "the placeholder of a bad value is not named by every operation",
        "AWS's wording since 2026",
        is_wrapped,
    ),
    Rule(
        "types of index keys",
        "an update cannot give an index key attribute another type",
        "API reference, TransactWriteItems: cancellation reasons",
        is_index_key,
    ),
    Rule(
        "expressions and AttributesToGet in one batch",
        "each table of a BatchGetItem may use one or the other",
        "dynalite's recorded answers check each table by itself",
        is_mixed_batch,
    ),
    Rule(
        "order of checks",
        "of several faults the one AWS looks at first is reported",
        "dynamodb-conformance tier3/validation-ordering",
        is_earlier,
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
