"""Request parameters as they may be recorded: no item contents, no secrets. Pure.

Members that hold item contents or secrets are replaced by the text that CloudTrail uses. The rest
is kept, cut to a bound, with names in camel case as CloudTrail has them.
"""

from __future__ import annotations

from typing import Any, Final

HIDDEN: Final = "HIDDEN_DUE_TO_SECURITY_REASONS"

_HIDDEN_NAMES: Final = frozenset(
    {
        # Item contents, by operations of DynamoDB; statements may hold literals.
        *("AttributeUpdates", "ExclusiveStartKey", "Expected", "ExpressionAttributeValues"),
        *("Item", "Key", "KeyConditions", "Keys", "NextToken", "Parameters", "QueryFilter"),
        *("RequestItems", "ScanFilter", "Statement", "Statements", "TransactItems"),
        *("TransactStatements", "ShardIterator", "Items"),
        # Objects of S3.
        *("Body", "Metadata"),
        # Secrets, plain texts and what opens them.
        *("CiphertextBlob", "Plaintext", "SecretAccessKey", "SessionToken", "Password"),
        *("Token", "TokenCode", "GrantTokens", "Message", "MessageAttributes", "MetricData"),
        *("PublishBatchRequestEntries", "SerialNumber", "ClientRequestToken"),
    }
)
_TEXT_CHARACTERS_MAX: Final = 2048
_MEMBERS_MAX: Final = 100
_LEVELS_MAX: Final = 6


def recorded_parameters(request: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a request as they are recorded."""
    recorded = _structure(request, _LEVELS_MAX)
    tables = _tables(request)
    if tables:
        recorded["tableNames"] = tables
    return recorded


def _structure(members: dict[str, Any], levels: int) -> dict[str, Any]:
    recorded: dict[str, Any] = {}
    for name, value in list(members.items())[:_MEMBERS_MAX]:
        shown = HIDDEN if name in _HIDDEN_NAMES else _value(value, levels - 1)
        recorded[name[:1].lower() + name[1:_TEXT_CHARACTERS_MAX]] = shown
    return recorded


def _value(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _TEXT_CHARACTERS_MAX else value[:_TEXT_CHARACTERS_MAX] + "…"
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | bytearray):
        return HIDDEN
    if levels <= 0:
        return "…"
    if isinstance(value, dict):
        return _structure(value, levels)
    if isinstance(value, list | tuple):
        return [_value(each, levels - 1) for each in value[:_MEMBERS_MAX]]
    return str(value)


def _tables(request: dict[str, Any]) -> list[str]:
    """Return the tables that a batch or transaction names inside of what is hidden."""
    names: list[Any] = []
    batches = request.get("RequestItems")
    if isinstance(batches, dict):
        names += batches
    steps = request.get("TransactItems")
    for step in steps[:_MEMBERS_MAX] if isinstance(steps, list) else ():
        if isinstance(step, dict):
            names += [part.get("TableName") for part in step.values() if isinstance(part, dict)]
    return list(dict.fromkeys(name for name in names[:_MEMBERS_MAX] if isinstance(name, str)))
