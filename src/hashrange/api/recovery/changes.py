"""Query and Scan with an interval in the header X-Hashrange-At: changes instead of items.

They answer with the changes of the items that they would have returned: those made after the first
time and up to the second. In `Items`, a change is a map:

    Time       N     when it was made, in seconds since 1970
    Kind       S     INSERT, MODIFY or REMOVE
    Key        M     the key of the item
    Old, New   M     the item before and after; absent if there was none
    By         S     the principal, if the server verifies signatures
    Expired    BOOL  there, and true, if time to live deleted the item

The changes of one item are in the order in which they were made; with ScanIndexForward false the
newest is first. LastEvaluatedKey has a member more than the key, which says at which change of the
item the page ended. What is only meant for items, such as filters and projections, is refused.
"""

from __future__ import annotations

from typing import Any, Final

from hashrange.api.items.admission import admit_read, charge_read
from hashrange.api.items.consumed_capacity import Capacity, capacity_detail, read_units
from hashrange.api.operation import Request, Response
from hashrange.api.recovery.time_travel import HEADER, refuse_index, window_of
from hashrange.api.scope import RequestScope
from hashrange.engine.base import SEQUENCE_BYTES
from hashrange.errors import ValidationException
from hashrange.model.keys import item_key
from hashrange.model.schema import Table
from hashrange.model.values import Item, check_item
from hashrange.storage.history import Version
from hashrange.storage.item_changes import ChangePage, ChangeReader
from hashrange.storage.layout import splice, unpack_item
from hashrange.storage.reads import Span

POSITION: Final = "X-Hashrange-Change"
"""The member of LastEvaluatedKey that says which change of an item was the last."""

_MEANT_FOR_ITEMS: Final = (
    "FilterExpression",
    "ProjectionExpression",
    "AttributesToGet",
    "QueryFilter",
    "ScanFilter",
    "Select",
)
_INVALID_START: Final = "The provided starting key is invalid"


async def answer_changes(
    scope: RequestScope, request: Request, table: Table, span: Span
) -> Response:
    """Read one page of the changes in a span and return it as a response."""
    refuse_index(request)
    for name in _MEANT_FOR_ITEMS:
        if name in request:
            raise ValidationException(f"{HEADER} with an interval shows changes, without {name}")
    history, between = await window_of(scope, table)
    behind = _behind(table, span, request.get("ExclusiveStartKey"))
    if table.meter is not None:
        admit_read(scope, table, None, span.lower)
    reader = ChangeReader(scope.engine, table, history, between)
    page = await reader.page(span, behind, request.get("Limit"))
    response: Response = {
        "Count": len(page.changes),
        "ScannedCount": page.scanned_count,
        "Items": [_describe(table, version, after) for version, after in page.changes],
    }
    if page.last is not None:
        version, after = page.last
        position = {POSITION: {"N": str(version.sequence)}}
        response["LastEvaluatedKey"] = _key_of(table, version, after) | position
    _charge(scope, request, table, span, page, response)
    return response


def _charge(
    scope: RequestScope,
    request: Request,
    table: Table,
    span: Span,
    page: ChangePage,
    response: Response,
) -> None:
    count, size = page.scanned_count, page.scanned_bytes
    scope.note_rows(count, size, len(page.changes), size)
    units = read_units(size, consistent=request.get("ConsistentRead", False))
    capacity = Capacity(table, units)
    capacity.note_reads(scope)
    if table.meter is not None:
        charge_read(scope, table, None, span.lower, units)
    detail = capacity_detail(request)
    if detail is not None:
        response["ConsumedCapacity"] = capacity.document(detail)


def _behind(table: Table, span: Span, start: Item | None) -> bytes | None:
    """Return the position of the change behind which the page begins."""
    if start is None:
        return None
    check_item(start)
    names = {*table.key_names, POSITION}
    number = start.get(POSITION, {}).get("N", "")
    if start.keys() != names or not (number.isdecimal() and int(number) < 1 << 63):
        raise ValidationException(_INVALID_START)
    if any(part.type not in start[part.name] for part in table.parts):
        raise ValidationException(_INVALID_START)
    key = item_key(table.parts, start)
    if not span.holds(key):
        raise ValidationException(_INVALID_START)
    return key + int(number).to_bytes(SEQUENCE_BYTES, "big")


def _describe(table: Table, version: Version, after: bytes | None) -> dict[str, Any]:
    """Return a change as a map of attribute values."""
    before = version.old
    kind = "INSERT" if before is None else "REMOVE" if after is None else "MODIFY"
    described: dict[str, Any] = {
        "Time": {"N": repr(version.time)},
        "Kind": {"S": kind},
        "Key": {"M": _key_of(table, version, after)},
    }
    if before is not None:
        described["Old"] = {"M": splice(before)}
    if after is not None:
        described["New"] = {"M": splice(after)}
    if version.who:
        described["By"] = {"S": version.who}
    if version.by_service:
        described["Expired"] = {"BOOL": True}
    return described


def _key_of(table: Table, version: Version, after: bytes | None) -> Item:
    row = version.old if version.old is not None else after
    assert row is not None, "a change has an item before it or after it"
    item = unpack_item(row)
    return {name: item[name] for name in table.key_names}
