"""Commands on tables and items: `create`, `tables`, `get`, `query`, `scan`, `put` and others.

Exit status: 0 when all went well, 1 when the server refused or did not answer, 2 for a value that
cannot be one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from hashrange.cli.data.connection import connection_flags, make_client

NAMES: Final = (
    *("create", "tables", "describe", "get", "query", "scan", "put", "delete", "sql"),
    *("export", "import", "history", "undo"),
)
_FORMS: Final = ("json", "dynamodb", "csv")


def add_commands(commands: Any) -> None:
    """Add the commands to the parser's."""
    server = connection_flags()

    def add(name: str, text: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name,
            help=text,
            description=text.capitalize() + ".",
            parents=[server],
            allow_abbrev=False,
        )
        return parser

    create = add("create", "make a table, paid by request")
    _add_output(add("tables", "list the tables of a server"))
    describe = add("describe", "show the keys, indexes and settings of a table")
    get = add("get", "show one item")
    query = add("query", "show the items of a partition, or of a range of it")
    scan = add("scan", "show the items of a table or index, in no useful order")
    put = add("put", "write an item")
    delete = add("delete", "delete an item")
    sql = add("sql", "run a PartiQL statement, or ask for statements")
    exporting = add("export", "write all items of a table to a file")
    importing = add("import", "put the items of a file into a table")
    history = add("history", "show all changes of an item, or of a partition")
    undo = add("undo", "put back items that were changed in an interval")
    tabular = (create, describe, get, query, scan, put, delete, exporting, importing, history, undo)
    for parser in tabular:
        parser.add_argument("table", metavar="TABLE")
    create.add_argument("partition", metavar="PARTITION", help="partition key: NAME or NAME:TYPE")
    create.add_argument("sort", metavar="SORT", nargs="?", help="sort key; types are S, N and B")
    for parser, forms in ((exporting, (*_FORMS, "parquet")), (importing, _FORMS)):
        parser.add_argument("file", metavar="FILE", help="- for standard output or input")
        parser.add_argument(
            "--form", choices=forms, default="json", help="JSON lines, DynamoDB's own, or others"
        )
    for parser in (get, delete):
        parser.add_argument("key", metavar="KEY", nargs="+", help="partition key, sort key")
    query.add_argument("partition", metavar="PARTITION", help="value of the partition key")
    query.add_argument(
        "sort", metavar="RANGE", nargs="?", help="sort key: VALUE, PREFIX*, LOW..HIGH, >=VALUE"
    )
    query.add_argument("--reverse", action="store_true", help="highest sort key first")
    for parser in (query, scan):
        parser.add_argument("--index", metavar="NAME", help="read an index")
        parser.add_argument("--limit", type=_count, metavar="NUMBER", help="items to show at most")
    for parser in (get, query, scan):
        parser.add_argument("--consistent", action="store_true", help="read strongly consistently")
        parser.add_argument("--attributes", metavar="A,B", help="show only these attributes")
        parser.add_argument(
            "--at", metavar="TIME", help="read the table as it was; needs point-in-time recovery"
        )
    put.add_argument("item", metavar="ITEM", help="a JSON object; - reads it from standard input")
    put.add_argument("--typed", action="store_true", help="the item is in DynamoDB's own JSON")
    put.add_argument("--new", action="store_true", help="refuse to replace an item")
    _add_interval(history, undo)
    sql.add_argument("statement", metavar="STATEMENT", nargs="?", help="without one: a prompt")
    for parser in (describe, get, query, scan, sql, history):
        _add_output(parser)


def _add_interval(history: argparse.ArgumentParser, undo: argparse.ArgumentParser) -> None:
    history.add_argument("key", metavar="KEY", nargs="+", help="partition key, sort key")
    undo.add_argument("key", metavar="KEY", nargs="*", help="one partition or item; all without it")
    for parser in (history, undo):
        parser.add_argument(
            "--from",
            dest="since",
            metavar="TIME",
            default="",
            required=parser is undo,
            help="changes after this time",
        )
        parser.add_argument(
            "--to", dest="until", metavar="TIME", default="", help="and up to this one"
        )
    undo.add_argument("--yes", action="store_true", help="do it without showing it first")


def _add_output(parser: argparse.ArgumentParser) -> None:
    from hashrange.cli.data.views import FORMATS

    parser.add_argument(
        "--output", choices=FORMATS, default="table", help="table, JSON, or JSON lines"
    )


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def run(given: argparse.Namespace) -> int:
    """Carry out a command; return the exit status."""
    from botocore.exceptions import BotoCoreError, ClientError

    from hashrange.cli.data.plain_json import PlainJsonError

    try:
        return _VERBS[given.command](make_client(given), given)
    except PlainJsonError as error:
        return _complain(str(error), 2)
    except ClientError as error:
        answer = error.response["Error"]
        return _complain(f"{answer['Code']}: {answer.get('Message', '')}".rstrip(": "), 1)
    except BotoCoreError as error:
        return _complain(str(error), 1)
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; nothing may be written at exit either.
        sys.stdout = None
        return 0


def _complain(text: str, status: int) -> int:
    sys.stderr.write(f"hashrange: {text}\n")
    return status


def _create(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.key_texts import key_attributes

    keys = key_attributes(
        [given.partition] if given.sort is None else [given.partition, given.sort]
    )
    client.create_table(TableName=given.table, BillingMode="PAY_PER_REQUEST", **keys)
    # A second is soon enough for a person; the waiter's own 20 seconds are not.
    waiter = client.get_waiter("table_exists")
    waiter.wait(TableName=given.table, WaiterConfig={"Delay": 1, "MaxAttempts": 300})
    return 0


def _tables(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.views import show_items, size_text

    rows = []
    for page in client.get_paginator("list_tables").paginate():
        for name in page["TableNames"]:
            table = client.describe_table(TableName=name)["Table"]
            size: object = table.get("TableSizeBytes", 0)
            rows.append(
                {
                    "name": name,
                    "status": table["TableStatus"],
                    "key": ", ".join(part["AttributeName"] for part in table["KeySchema"]),
                    "indexes": sum(len(table.get(kind, ())) for kind in _INDEX_KINDS),
                    "items": table.get("ItemCount", 0),
                    "size": size_text(int(str(size))) if given.output == "table" else size,
                }
            )
    if show_items(rows, given.output) == 0 and given.output == "table":
        sys.stderr.write("no tables\n")
    return 0


_INDEX_KINDS: Final = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def _describe(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.descriptions import facts_of, index_rows
    from hashrange.cli.data.plain_json import json_text
    from hashrange.cli.data.views import show_table

    table = client.describe_table(TableName=given.table)["Table"]
    if given.output != "table":
        sys.stdout.write(json_text(table, indent=2 if given.output == "json" else None) + "\n")
        return 0
    expiry = client.describe_time_to_live(TableName=given.table)["TimeToLiveDescription"]
    show_table(["setting", "value"], facts_of(table, expiry))
    indexes = index_rows(table)
    if indexes:
        sys.stdout.write("\n")
        show_table(["index", "kind", "key", "projection", "status", "items"], indexes)
    return 0


def _get(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.views import show_items
    from hashrange.toolkit.values import from_wire_item

    schema = _schema(client, given.table)
    answer = client.get_item(
        TableName=given.table,
        Key=schema.key(given.key),
        ConsistentRead=given.consistent,
        **_projection(given),
    )
    if "Item" not in answer:
        return _complain("there is no such item", 1)
    form = "table" if given.output == "table" else given.output
    show_items([from_wire_item(answer["Item"])], form, _key_names(schema))
    return 0


def _query(client: Any, given: argparse.Namespace) -> int:
    schema = _schema(client, given.table, given.index)
    condition = schema.condition(given.partition, given.sort)
    names = condition.pop("ExpressionAttributeNames")
    projection = _projection(given)
    names |= projection.pop("ExpressionAttributeNames", {})
    parameters = {**condition, **projection, "ExpressionAttributeNames": names}
    parameters["ScanIndexForward"] = not given.reverse
    return _show_pages(client, "query", given, schema, parameters)


def _scan(client: Any, given: argparse.Namespace) -> int:
    schema = _schema(client, given.table, given.index)
    return _show_pages(client, "scan", given, schema, _projection(given))


def _show_pages(
    client: Any, operation: str, given: argparse.Namespace, schema: Any, parameters: dict[str, Any]
) -> int:
    from hashrange.cli.data.views import show_items

    parameters |= {"TableName": given.table, "ConsistentRead": given.consistent}
    if given.index is not None:
        parameters["IndexName"] = given.index
    items = _items(client, operation, parameters, given.limit)
    count = show_items(items, given.output, _key_names(schema))
    if given.output == "table":
        sys.stderr.write(f"{count} item{'' if count == 1 else 's'}\n")
    return 0


def _items(
    client: Any, operation: str, parameters: dict[str, Any], limit: int | None
) -> Iterator[dict[str, Any]]:
    from hashrange.toolkit.values import from_wire_item

    paginator = client.get_paginator(operation)
    pages = paginator.paginate(**parameters, PaginationConfig={"MaxItems": limit})
    for page in pages:
        for item in page["Items"]:
            yield from_wire_item(item)


def _put(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.plain_json import item_of, typed_item_of

    text = sys.stdin.read() if given.item == "-" else given.item
    item = typed_item_of(text) if given.typed else item_of(text)
    condition: dict[str, Any] = {}
    if given.new:
        condition["ConditionExpression"] = "attribute_not_exists(#k)"
        condition["ExpressionAttributeNames"] = {"#k": _schema(client, given.table).partition}
    client.put_item(TableName=given.table, Item=item, **condition)
    return 0


def _delete(client: Any, given: argparse.Namespace) -> int:
    schema = _schema(client, given.table)
    answer = client.delete_item(
        TableName=given.table, Key=schema.key(given.key), ReturnValues="ALL_OLD"
    )
    return 0 if answer.get("Attributes") else _complain("there is no such item", 1)


def _export(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.files import export_table

    return export_table(client, given)


def _import(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.files import import_items

    return import_items(client, given)


def _history(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.changes import show_history

    return show_history(client, given)


def _undo(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.changes import undo

    return undo(client, given)


def _sql(client: Any, given: argparse.Namespace) -> int:
    from hashrange.cli.data.prompt import Prompt, run_statement

    if given.statement is None:
        return Prompt(client, given.output).run()
    run_statement(client, given.statement, given.output)
    return 0


def _schema(client: Any, table: str, index: str | None = None) -> Any:
    from hashrange.cli.data.key_texts import KeySchema

    return KeySchema.of(client.describe_table(TableName=table)["Table"], index)


def _key_names(schema: Any) -> list[str]:
    return [schema.partition] if schema.sort is None else [schema.partition, schema.sort]


def _projection(given: argparse.Namespace) -> dict[str, Any]:
    """Return the projection of the attributes that were named."""
    if not given.attributes:
        return {}
    names = {f"#a{at}": name.strip() for at, name in enumerate(given.attributes.split(","))}
    return {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}


_VERBS: Final[dict[str, Callable[[Any, argparse.Namespace], int]]] = {
    "create": _create,
    "tables": _tables,
    "describe": _describe,
    "get": _get,
    "query": _query,
    "scan": _scan,
    "put": _put,
    "delete": _delete,
    "sql": _sql,
    "export": _export,
    "import": _import,
    "history": _history,
    "undo": _undo,
}
