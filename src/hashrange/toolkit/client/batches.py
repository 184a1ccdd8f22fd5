"""Batches of any size: cut to the API's limits, with unprocessed entries sent again.

A batch write takes any number of puts and deletes; of several for the same key, the last one
counts, as if they had been sent one after the other. A batch get returns each item once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from hashrange.toolkit.client.operations import Attributes, Key, TableContext
from hashrange.toolkit.client.plans import Call, Pause, Plan, Together
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy, attempt
from hashrange.toolkit.errors import DesignError, Throttled
from hashrange.toolkit.values import Item

WRITES_PER_BATCH: Final = 25
GETS_PER_BATCH: Final = 100

Entry = TypeVar("Entry")


def batch_write(
    context: TableContext,
    puts: Iterable[Mapping[str, Any]],
    deletes: Iterable[Key],
    key_names: Sequence[str],
    width: int = 1,
) -> Plan[int]:
    """Put and delete items; return how many entries were sent. `width` batches run at a time."""
    entries: dict[str, dict[str, Any]] = {}
    for item in puts:
        wire = yield from context.encode(item)
        entries[_identity(wire, key_names)] = {"PutRequest": {"Item": wire}}
    for key in deletes:
        wire = context.key(key)
        entries[_identity(wire, key_names)] = {"DeleteRequest": {"Key": wire}}
    chunks = chunked(list(entries.values()), WRITES_PER_BATCH)
    plans = [write_entries(context.table, chunk, context.policy) for chunk in chunks]
    yield Together(plans, width)
    return len(entries)


def batch_get(
    context: TableContext,
    keys: Iterable[Key],
    *,
    consistent: bool = False,
    projection: Iterable[str] = (),
    width: int = 1,
) -> Plan[list[Attributes]]:
    """Return the items with these keys that exist, in no particular order."""
    wires = {_identity(wire, tuple(wire)): wire for wire in map(context.key, keys)}
    expressions = context.expressions()
    options: dict[str, Any] = {"ConsistentRead": consistent}
    if text := expressions.projection(projection):
        options["ProjectionExpression"] = text
    options.update(expressions.parameters())
    chunks = chunked(list(wires.values()), GETS_PER_BATCH)
    plans = [get_items(context.table, chunk, options, context.policy) for chunk in chunks]
    results: list[list[Item]] = yield Together(plans, width)
    return (yield from context.decode_all([item for items in results for item in items]))


def chunked(entries: Sequence[Entry], size: int) -> Iterator[Sequence[Entry]]:
    """Yield consecutive parts of a sequence, each of at most `size` entries."""
    for start in range(0, len(entries), size):
        yield entries[start : start + size]


def _identity(wire: Item, key_names: Sequence[str]) -> str:
    try:
        return json.dumps([wire[name] for name in key_names], default=bytes.hex)
    except KeyError as error:
        raise DesignError(f"an item lacks the key attribute {error}") from error


def write_entries(
    table: str, entries: Sequence[dict[str, Any]], policy: RetryPolicy = DEFAULT_POLICY
) -> Plan[None]:
    """Carry out puts and deletes of different keys, at most as many as one request takes."""
    left: Mapping[str, Any] = {table: list(entries)}
    for number in range(policy.attempts):
        call = Call("batch_write_item", {"RequestItems": left})
        answer = yield from attempt(call, policy)
        left = answer.get("UnprocessedItems") or {}
        if not left:
            return
        yield Pause(policy.pause(number))
    count = sum(map(len, left.values()))
    raise Throttled(f"{count} writes of a batch were not processed")


def get_items(
    table: str,
    keys: Sequence[Item],
    options: Mapping[str, Any],
    policy: RetryPolicy = DEFAULT_POLICY,
) -> Plan[list[Item]]:
    """Return the items with different keys, at most as many as one request takes."""
    left: Mapping[str, Any] = {table: {"Keys": list(keys), **options}}
    found: list[Item] = []
    pauses = 0
    while left:
        answer = yield from attempt(Call("batch_get_item", {"RequestItems": left}), policy)
        items = answer.get("Responses", {}).get(table, [])
        found += items
        left = answer.get("UnprocessedKeys") or {}
        # A large answer is cut at 16 MB without any throttling: only an empty one calls for a
        # pause.
        pauses = 0 if items else pauses + 1
        if left and pauses >= policy.attempts:
            count = sum(len(each["Keys"]) for each in left.values())
            raise Throttled(f"{count} keys of a batch were not processed")
        if left and pauses:
            yield Pause(policy.pause(pauses - 1))
    return found
