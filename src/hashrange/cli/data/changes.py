"""`hashrange history` and `hashrange undo`: what was changed, and putting it back.

Both read the changes that a table with point-in-time recovery keeps, by the header X-Hashrange-At,
so only a Hashrange server will do. An undo puts items back to what they were at the beginning of an
interval. It leaves alone what was changed after the interval: each write names the time of the
newest change that it knows of, and the server refuses it if there is a newer one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from math import inf
from typing import Any, Final, final

from hashrange.cli.data.connection import TimeHeader
from hashrange.cli.data.key_texts import KeySchema
from hashrange.cli.data.plain_json import PlainJsonError, json_text, text_of
from hashrange.cli.data.views import show_items
from hashrange.clock import parse_time
from hashrange.toolkit.values import from_wire_item

Change = dict[str, Any]

_PUT: Final = "put back"
_DELETE: Final = "delete"
_KEEP: Final = "keep"


def show_history(client: Any, given: argparse.Namespace) -> int:
    """Show all changes of an item."""
    changes = _changes(client, given, TimeHeader(client), f"{given.since}/{given.until}")
    shown = (_shown(change, given.output) for change in changes)
    count = show_items(shown, given.output)
    if given.output == "table":
        sys.stderr.write(f"{count} change{'' if count == 1 else 's'}\n")
    return 0


def undo(client: Any, given: argparse.Namespace) -> int:
    """Put items back that were changed in an interval; show first what that would do."""
    try:
        until = parse_time(given.until) if given.until else inf
        parse_time(given.since)
    except ValueError:
        raise PlainJsonError(
            "--from and --to are times such as 2026-01-31T12:00:00Z, or seconds since 1970"
        ) from None
    header = TimeHeader(client)
    if not given.yes:
        count, newest = _show_plan(_steps(client, given, header, until))
        if not count or not _is_confirmed(count):
            return 0
        until = min(until, newest)  # what is changed from now on is not part of it
    return _carry_out(client, given.table, header, _steps(client, given, header, until))


@final
class Step:
    """What an undo does to an item: the item as it was, and the newest change that is known."""

    __slots__ = ("item", "key", "newest", "remark", "verb")

    def __init__(self, changes: list[Change], until: float) -> None:
        times = [float(change["Time"]["N"]) for change in changes]
        wanted = [time for time in times if time <= until]
        self.key: Change = changes[0]["Key"]["M"]
        self.item: Change | None = changes[0].get("Old", {}).get("M")
        self.newest = max(wanted, default=-inf)
        self.remark = ""
        self.verb = _DELETE if self.item is None else _PUT
        if len(wanted) < len(times):
            self.verb, self.remark = _KEEP, "changed after the interval"
        elif self.item == changes[-1].get("New", {}).get("M"):
            self.verb, self.remark = _KEEP, "is as it was"

    def line(self) -> str:
        """Return the step for people."""
        key = json_text(list(from_wire_item(self.key).values()))
        rest = self.remark or ("" if self.item is None else text_of(self.item))
        return f"{self.verb}  {key}  {rest}".rstrip() + "\n"


def _steps(
    client: Any, given: argparse.Namespace, header: TimeHeader, until: float
) -> Iterator[Step]:
    """Yield what there is to do for each item that was changed in the interval.

    All changes since its beginning are read, since those after its end decide too.
    """
    changes = _changes(client, given, header, f"{given.since}/")
    for _, group in groupby(changes, key=lambda change: json_text(change["Key"])):
        found = list(group)
        if float(found[0]["Time"]["N"]) <= until:
            yield Step(found, until)


def _show_plan(steps: Iterable[Step]) -> tuple[int, float]:
    """Show steps; return how many change something, and the time of the newest change seen."""
    count, newest = 0, -inf
    for step in steps:
        sys.stdout.write(step.line())
        count += step.verb != _KEEP
        newest = max(newest, step.newest)
    return count, newest


def _is_confirmed(count: int) -> bool:
    items = "1 item" if count == 1 else f"{count} items"
    if not sys.stdin.isatty():
        sys.stderr.write(f"nothing was changed; --yes puts {items} back\n")
        return False
    sys.stderr.write(f"Put {items} back? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _carry_out(client: Any, table: str, header: TimeHeader, steps: Iterable[Step]) -> int:
    """Do the steps; return 1 if an item could not be put back because it was changed meanwhile."""
    done = kept = 0
    for step in steps:
        if step.verb != _KEEP:
            if _write(client, table, header, step):
                done += 1
            else:
                step.verb, step.remark = _KEEP, "changed meanwhile"
        kept += step.verb == _KEEP and step.remark != "is as it was"
        sys.stdout.write(step.line())
    sys.stderr.write(f"{done} put back, {kept} left alone because they were changed later\n")
    return 1 if kept else 0


def _write(client: Any, table: str, header: TimeHeader, step: Step) -> bool:
    """Put an item back, or delete it; tell whether nothing newer was in the way."""
    with header.sent(repr(step.newest)):
        try:
            if step.item is None:
                client.delete_item(TableName=table, Key=step.key)
            else:
                client.put_item(TableName=table, Item=step.item)
        except client.exceptions.ConditionalCheckFailedException:
            return False
    return True


def _changes(
    client: Any, given: argparse.Namespace, header: TimeHeader, between: str
) -> Iterator[Change]:
    """Yield the changes of an interval: those of one item, of a partition, or of the table."""
    operation, parameters = "scan", {"TableName": given.table}
    if given.key:
        schema = KeySchema.of(client.describe_table(TableName=given.table)["Table"])
        if len(given.key) > 1:
            schema.key(given.key)  # says so if these are too many
        sort = "\\" + given.key[1] if len(given.key) > 1 else None
        operation, parameters = "query", parameters | schema.condition(given.key[0], sort)
    pages = iter(client.get_paginator(operation).paginate(**parameters))
    while True:
        with header.sent(between):
            page = next(pages, None)
        if page is None:
            return
        yield from page["Items"]


def _shown(change: Change, form: str) -> dict[str, Any]:
    """Return a change as a row of a table, or whole."""
    time = float(change["Time"]["N"])
    shown: dict[str, Any] = {
        "time": datetime.fromtimestamp(time, UTC).isoformat(timespec="microseconds"),
        "change": change["Kind"]["S"],
        "by": "time to live" if "Expired" in change else change.get("By", {}).get("S", ""),
    }
    images = {name: change[name]["M"] for name in ("Old", "New") if name in change}
    if form == "table":
        return shown | {"item": from_wire_item(images["New"]) if "New" in images else ""}
    shown["key"] = from_wire_item(change["Key"]["M"])
    return shown | {name.lower(): from_wire_item(image) for name, image in images.items()}
