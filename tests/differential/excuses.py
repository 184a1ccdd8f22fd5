"""Pairs of answers, one of them an error at least, that differ rightly."""

import re

from tests.differential.cases import Case, Rule, replies
from tests.differential.wording import (
    CONSTRAINT,
    CONVERTED,
    ENVELOPE,
    INVALID,
    NOT_REFUSED,
    REWORDED,
    REWORDED_TABLES,
    RUN_TIME_REFUSALS,
    SCHEMA_STEP,
    SELECT,
    STATEMENT_REFUSALS,
    UNKNOWN_CONSTRAINTS,
    VALUES_STEP,
    step_of,
)
from tests.harness.endpoint import Reply


def is_enveloped(case: Case) -> bool:
    local, ours = replies(case)
    return ours.error == local.error and ours.message == ENVELOPE + local.message


def is_prefixed(case: Case) -> bool:
    local, ours = replies(case)
    return ours.error == local.error and ours.message == INVALID + local.message


def is_local_failure(case: Case) -> bool:
    return case.local.reply.status == 500 and case.ours.reply.status == 400


def is_constraint(case: Case) -> bool:
    """Both refuse; ours counts validation errors, DynamoDB Local words them freely."""
    local, ours = replies(case)
    return local.status == 400 and bool(CONSTRAINT.search(ours.message))


def is_unknown_constraint(case: Case) -> bool:
    """DynamoDB Local accepts a value that AWS has not in its range."""
    local, ours = replies(case)
    texts = CONSTRAINT.sub("", ours.message)
    return local.status == 200 and any(re.search(text, texts) for text in UNKNOWN_CONSTRAINTS)


def is_mistyped(case: Case) -> bool:
    local, ours = replies(case)
    return local.status == 400 and ours.error == "SerializationException"


def is_converted(case: Case) -> bool:
    """DynamoDB Local reads JSON of a type that can be made into the wanted one."""
    local, ours = replies(case)
    is_accepted = local.status == 200 or local.error == "ConditionalCheckFailedException"
    is_refused = ours.error == "SerializationException"
    return is_accepted and is_refused and ours.message.startswith(CONVERTED)


def is_cancelled(case: Case) -> bool:
    """Ours cancels with a reason; DynamoDB Local refuses as a whole, or updates an index key."""
    return (
        case.operation in ("TransactWriteItems", "TransactGetItems")
        and case.ours.reply.error == "TransactionCanceledException"
        and "ValidationError" in case.ours.reply.message
        and (case.local.reply.status == 400 or case.operation == "TransactWriteItems")
        and reasons_of(case.local.reply) in ([], ["ValidationError"])
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
    theirs, mine = (step_of(f"{reply.error} {reply.message}") for reply in (local, ours))
    if local.status != 400 or ours.status != 400 or theirs is None or mine is None:
        return False
    return mine < theirs


def is_select(case: Case) -> bool:
    """Both refuse, one of them for Select."""
    local, ours = replies(case)
    is_found = SELECT.search(local.message) or SELECT.search(ours.message)
    return local.status == ours.status == 400 and bool(is_found)


def is_null_name(case: Case) -> bool:
    local, ours = replies(case)
    start = "ExpressionAttributeNames contains invalid value: null for key"
    return local.message.startswith(start) and ours.status == 400


def is_filter_before_keys(case: Case) -> bool:
    """DynamoDB Local looks at KeyConditions before QueryFilter."""
    local, ours = replies(case)
    return {"KeyConditions", "QueryFilter"} <= set(case.body) and all(
        "ComparisonOperator" in reply.message for reply in (local, ours)
    )


def is_path_into_key(case: Case) -> bool:
    """DynamoDB Local looks for paths into keys before it looks at the keys themselves."""
    local, ours = replies(case)
    return (
        local.message.startswith("Key attributes must be scalars")
        and (step_of(f"{ours.error} {ours.message}") or 0) > SCHEMA_STEP
    )


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
    texts = ("Type mismatch for Index Key", "update the secondary index key to unsupported type")
    return local.status == 200 and any(text in ours.message for text in texts)


def is_mixed_batch(case: Case) -> bool:
    return (
        case.operation == "BatchGetItem"
        and case.local.reply.message.startswith("Can not use both expression and non-expression")
        and case.ours.reply.status == 200
    )


def reasons_of(reply: Reply) -> list[str]:
    """Return the codes of the reasons for which a transaction was cancelled."""
    found = re.search(r"specific reasons \[(.*)\]", reply.message)
    return found.group(1).split(", ") if found else []


def is_earlier_reason(case: Case) -> bool:
    """Ours cancels for what the schema shows; DynamoDB Local looks at conditions as well."""
    theirs, mine = (reasons_of(reply) for reply in replies(case))
    if len(theirs) != len(mine) or "ValidationError" not in mine:
        return False
    pairs = [pair for pair in zip(theirs, mine, strict=True) if pair[0] != pair[1]]
    return all(left == "ConditionalCheckFailed" or right == "None" for left, right in pairs)


def is_duplicate_item(case: Case) -> bool:
    local, ours = replies(case)
    return (local.error, ours.error) == ("DuplicateItem", "DuplicateItemException")


def is_unprojected_select(case: Case) -> bool:
    local, ours = replies(case)
    text = "does not project one or more filter attributes"
    return case.operation == "ExecuteStatement" and local.status == 200 and text in ours.message


def is_broken_order(case: Case) -> bool:
    """DynamoDB Local breaks when it is to order by an attribute that is not selected."""
    local, ours = replies(case)
    is_ordered = " ORDER BY " in str(case.body.get("Statement"))
    return is_ordered and local.status == 500 and ours.status == 200


def is_reserved(case: Case) -> bool:
    """DynamoDB Local takes the reserved word size for a name."""
    text = "Attribute name is a reserved keyword; reserved keyword: size"
    return case.ours.reply.message.endswith(text)


def is_end_of_span(case: Case) -> bool:
    """DynamoDB Local refuses a starting key at the far end of what a query reads."""
    local, ours = replies(case)
    text = "The provided starting key does not match the range key predicate"
    is_empty = ours.status == 200 and ours.body.get("ScannedCount") == 0
    return case.operation == "Query" and local.message == text and is_empty


def is_lost_place(case: Case) -> bool:
    """DynamoDB Local does not understand the LastEvaluatedKey it returned itself."""
    is_begun = bool(case.local.pages) and "Items" in case.local.pages[0]
    text = "Type mismatch for attribute to update"
    return is_begun and case.local.reply.message == text and case.ours.reply.status == 200


def is_other_part(case: Case) -> bool:
    """Several parts of a batch are wrong; ours looks at one table after the other."""
    local, ours = replies(case)
    return (
        case.operation in ("BatchGetItem", "BatchWriteItem")
        and len(case.body.get("RequestItems") or ()) > 1
        and local.error == ours.error == "ValidationException"
    )


def is_redundant(case: Case) -> bool:
    """Parentheses are redundant, and there is no condition in them."""
    kinds = [re.search(r"Invalid \w+Expression: (.*)", reply.message) for reply in replies(case)]
    texts = [kind.group(1) if kind else "" for kind in kinds]
    return texts[0].startswith("Syntax error") and "redundant parentheses" in texts[1]


def is_unparsed(case: Case) -> bool:
    start = "Statement wasn't well formed, can't be processed: "
    return all(reply.message.startswith(start) for reply in replies(case))


def is_other_refusal(case: Case) -> bool:
    """Several things are wrong with a statement itself."""
    return case.operation == "ExecuteStatement" and all(
        reply.status == 400 and STATEMENT_REFUSALS.search(reply.message) for reply in replies(case)
    )


def is_select_list(case: Case) -> bool:
    """DynamoDB Local looks at the list of a SELECT first."""
    local, ours = replies(case)
    starts = ("Two document paths overlap", "Duplicate identifiers in select clause")
    return (
        case.operation == "ExecuteStatement"
        and local.message.startswith(starts)
        and ours.status == 400
    )


def is_type_of_key(case: Case) -> bool:
    """DynamoDB Local takes IS on a key attribute for a condition on its value."""
    local, ours = replies(case)
    text = "Condition parameter type does not match schema type"
    is_asked = re.search(r" IS (NOT )?[A-Z]", str(case.body.get("Statement")))
    return bool(is_asked) and text in local.message and ours.status == 200


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
        "constraints DynamoDB Local does not know",
        "key types are HASH and RANGE, throughput is at least 1, names have their limits",
        "dynamodb-conformance tier3/error-messages; botocore's service model",
        is_unknown_constraint,
    ),
    Rule(
        "mistyped JSON",
        "JSON of the wrong type is a SerializationException, DynamoDB Local words it otherwise",
        "dynalite's recorded answers",
        is_mistyped,
    ),
    Rule(
        "converted JSON",
        "a number is no string and a string no number or boolean, DynamoDB Local converts them",
        "dynalite's recorded answers",
        is_converted,
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
        "dynalite's recorded answers: requests with the faults of later steps",
        is_earlier,
    ),
    Rule(
        "Select",
        "Select is held against the other parameters of the request, as constraints are; in "
        "DynamoDB Local it is the last to be looked at",
        "AWS's wording since 2026: after '1 validation error detected: '",
        is_select,
    ),
    Rule(
        "null names",
        "a name that is null counts as not given",
        "AWS's JSON parser leaves out members that are null",
        is_null_name,
    ),
    Rule(
        "filters before keys",
        "QueryFilter is looked at before KeyConditions",
        "dynalite's recorded answers",
        is_filter_before_keys,
    ),
    Rule(
        "paths into keys",
        "a path into a key attribute is refused after keys that do not fit the schema",
        "dynalite's recorded answers to Query and UpdateItem",
        is_path_into_key,
    ),
    Rule(
        "reasons of cancelled transactions",
        "what the schema alone shows cancels a transaction before any condition is looked at",
        "the router of DynamoDB knows the schema, the storage nodes the items",
        is_earlier_reason,
    ),
    Rule(
        "INSERT of a key that is taken",
        "the error is called DuplicateItemException",
        "API reference, ExecuteStatement",
        is_duplicate_item,
    ),
    Rule(
        "SELECT from an index",
        "a query of an index cannot filter on what the index lacks, DynamoDB Local reads the table",
        "dynamodb-conformance partiql; Query refuses it on both",
        is_unprojected_select,
    ),
    Rule(
        "ORDER BY what is not selected",
        "DynamoDB Local breaks with an internal failure",
        "PartiQL reference, SELECT: ORDER BY names a key, whatever is selected",
        is_broken_order,
    ),
    Rule(
        "lists of SELECT",
        "the list of a SELECT is looked at after its index and its condition",
        "dynamodb-conformance partiql",
        is_select_list,
    ),
    Rule(
        "size",
        "size is a reserved word, DynamoDB Local takes it for a name",
        "Developer Guide, reserved words",
        is_reserved,
    ),
    Rule(
        "starting keys at the end",
        "a query may go on from the last key of its range, and finds nothing",
        "API reference, Query: LastEvaluatedKey is a valid ExclusiveStartKey",
        is_end_of_span,
    ),
    Rule(
        "pages DynamoDB Local cannot go on from",
        "a LastEvaluatedKey is a valid ExclusiveStartKey; DynamoDB Local refuses some of its own",
        "API reference, Scan: LastEvaluatedKey",
        is_lost_place,
    ),
    Rule(
        "parts of a batch",
        "the tables of a batch are looked at one after the other",
        "dynalite's recorded answers",
        is_other_part,
    ),
    Rule(
        "statements that do not parse",
        "the text says what was not expected, DynamoDB Local's repeats the statement",
        "dynamodb-conformance partiql",
        is_unparsed,
    ),
    Rule(
        "several faults in a statement",
        "any of several faults of the statement itself may be the one reported",
        "no recorded answer tells the order",
        is_other_refusal,
    ),
    Rule(
        "redundant parentheses",
        "redundant parentheses are reported as they are met, before a syntax error behind them",
        "no recorded answer has both",
        is_redundant,
    ),
    Rule(
        "IS of a key attribute",
        "IS looks at the type of an attribute, a key attribute's too",
        "PartiQL reference, operators: IS",
        is_type_of_key,
    ),
)
