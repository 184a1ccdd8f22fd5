"""`hashrange export` and `hashrange import`: tables to files and back, for people at a terminal.

Forms: `json` is one plain JSON object per line (see plain_json), `dynamodb` one {"Item": …} in
DynamoDB's own JSON per line, as in exports to S3, and `csv`; `parquet` can only be written. A file
whose name ends in .gz is compressed; "-" is standard output or input. Items go through Scan and
BatchWriteItem, so any endpoint will do.
"""

from __future__ import annotations

import argparse
import base64
import csv
import gzip
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from hashrange.cli.data.plain_json import (
    PlainJsonError,
    item_of,
    json_text,
    text_of,
    typed_item_of,
)
from hashrange.cli.meter import meter
from hashrange.toolkit.values import from_wire_item

_BATCH: Final = 25
_METER_ITEMS: Final = 100
_ATTEMPTS_MAX: Final = 12
_PAUSE_SECONDS_MAX: Final = 2.0

Item = dict[str, Any]


def export_table(client: Any, given: argparse.Namespace) -> int:
    """Write the items of a table to a file."""
    table = client.describe_table(TableName=given.table)["Table"]
    pages = client.get_paginator("scan").paginate(TableName=given.table)
    items = _counted(
        (item for page in pages for item in page["Items"]), table.get("ItemCount", 0), "exported"
    )
    keys = [part["AttributeName"] for part in table["KeySchema"]]
    if given.form == "parquet":
        _write_parquet(items, keys, given.file)
        return 0
    with _opened(given.file, "w") as file:
        if given.form == "csv":
            _write_csv(items, keys, file)
        else:
            write = text_of if given.form == "json" else _typed_line
            for item in items:
                file.write(write(item) + "\n")
    return 0


def import_items(client: Any, given: argparse.Namespace) -> int:
    """Put the items of a file into a table."""
    table = client.describe_table(TableName=given.table)["Table"]
    with _opened(given.file, "r") as file:
        if given.form == "csv":
            items = _csv_items(file, table)
        else:
            read = item_of if given.form == "json" else _read_typed_line
            items = (read(line) for line in file if line.strip())
        names = [part["AttributeName"] for part in table["KeySchema"]]
        batch: dict[str, Item] = {}
        for item in _counted(items, 0, "imported"):
            key = json_text([item.get(name) for name in names])
            batch[key] = item  # of two items with one key, the last one counts
            if len(batch) == _BATCH:
                _put(client, given.table, list(batch.values()))
                batch.clear()
        if batch:
            _put(client, given.table, list(batch.values()))
    return 0


def _put(client: Any, table: str, items: list[Item]) -> None:
    requests = [{"PutRequest": {"Item": item}} for item in items]
    for attempt in range(_ATTEMPTS_MAX):
        answer = client.batch_write_item(RequestItems={table: requests})
        requests = answer.get("UnprocessedItems", {}).get(table, [])
        if not requests:
            return
        time.sleep(min(_PAUSE_SECONDS_MAX, 0.05 * 2**attempt))
    raise PlainJsonError("the server did not take all items; it may be throttled")


@contextmanager
def _opened(name: str, mode: str) -> Iterator[IO[str]]:
    if name == "-":
        yield sys.stdout if mode == "w" else sys.stdin
        return
    try:
        with open(name, f"{mode}b") as plain:
            packed = gzip.GzipFile(fileobj=plain, mode=f"{mode}b") if name.endswith(".gz") else None
            with io.TextIOWrapper(packed or plain, encoding="utf-8", newline="") as file:
                yield file
    except OSError as error:
        raise PlainJsonError(f"cannot open {name}: {error.strerror}") from error


def _counted(items: Iterable[Item], total: int, verb: str) -> Iterator[Item]:
    """Yield items, and show at a terminal how many there were."""
    count = 0
    with meter(verb, total) as progress:
        for item in items:
            yield item
            count += 1
            if count % _METER_ITEMS == 0:
                progress.advance(_METER_ITEMS)
    sys.stderr.write(f"{verb} {count} item{'' if count == 1 else 's'}\n")


def _write_parquet(items: Iterable[Item], keys: list[str], name: str) -> None:
    from hashrange.cli.data.parquet import write_parquet

    if name == "-" or name.endswith(".gz"):
        raise PlainJsonError("Parquet is written to a file, and compressed by itself")
    try:
        write_parquet(items, keys, name)
    except OSError as error:
        raise PlainJsonError(f"cannot write {name}: {error.strerror or error}") from error


def _typed_line(item: Item) -> str:
    return json.dumps({"Item": item}, default=_base64, ensure_ascii=False)


def _base64(value: object) -> str:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()


def _read_typed_line(line: str) -> Item:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise PlainJsonError(f"this is no JSON: {error}") from error
    found = record.get("Item") if isinstance(record, dict) else None
    if not isinstance(found, dict):
        raise PlainJsonError('a line is an object such as {"Item": {"id": {"S": "7"}}}')
    return typed_item_of(json.dumps(found))


def _write_csv(items: Iterable[Item], keys: list[str], file: IO[str]) -> None:
    """Write CSV; the columns are known only at the end, so the items wait in a file until then."""
    columns = dict.fromkeys(keys)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as waiting:
        for item in items:
            columns |= dict.fromkeys(item)
            waiting.write(text_of(item) + "\n")
        waiting.seek(0)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for line in waiting:
            plain = from_wire_item(item_of(line))
            writer.writerow([_cell(plain[name]) if name in plain else "" for name in columns])


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _csv_items(file: IO[str], table: dict[str, Any]) -> Iterator[Item]:
    """Yield items: keys have their types, all else is text; empty cells are left out."""
    types = {part["AttributeName"]: part["AttributeType"] for part in table["AttributeDefinitions"]}
    for row in csv.DictReader(file, strict=True):
        cells = {name: cell for name, cell in row.items() if name is not None and cell}
        yield {
            name: {types.get(name, "S"): base64.b64decode(cell)}
            if types.get(name) == "B"
            else {types.get(name, "S"): cell}
            for name, cell in cells.items()
        }
