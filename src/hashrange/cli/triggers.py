"""`hashrange triggers`: registers functions and joins them to the streams of tables."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Final

from hashrange.cli.http_calls import DEFAULT_ENDPOINT, DEFAULT_REGION, CallError, Endpoint

_MAPPINGS: Final = "/2015-03-31/event-source-mappings"
_FUNCTIONS: Final = "/_hashrange/functions"
_STARTS: Final = {"trim-horizon": "TRIM_HORIZON", "latest": "LATEST"}
# Flag, member of the request, and what it means.
_NUMBERS: Final = (
    ("batch-size", "BatchSize", "records per invocation, 1 to 10000"),
    ("window", "MaximumBatchingWindowInSeconds", "seconds to wait for a full batch, 0 to 300"),
    ("parallel", "ParallelizationFactor", "batches of a shard at a time, 1 to 10"),
    ("retries", "MaximumRetryAttempts", "retries of a batch; -1 for as long as it is kept"),
    ("max-age", "MaximumRecordAgeInSeconds", "age at which records are given up; -1 for never"),
)
_SWITCHES: Final = (
    ("bisect", "BisectBatchOnFunctionError", "split a failed batch in two"),
    ("enabled", "Enabled", "deliver records"),
)


def add_commands(commands: Any) -> None:
    """Add the commands to the parser's."""
    triggers = commands.add_parser(
        "triggers",
        help="call functions for changes of tables",
        description="Manage functions and the streams they are called for, on a running server.",
    )
    verbs = triggers.add_subparsers(dest="verb", required=True, metavar="VERB")
    server = _server_flags()
    add = _verb(verbs, "add", server, "join a table's stream to a function")
    add.add_argument("--function", required=True, metavar="NAME", help="a registered function")
    source = add.add_mutually_exclusive_group(required=True)
    source.add_argument("--table", metavar="NAME", help="a table that has a stream")
    source.add_argument("--stream", metavar="ARN", help="the ARN of a stream")
    add.add_argument(
        "--start",
        choices=sorted(_STARTS),
        default="trim-horizon",
        help="begin with the oldest record that is kept, or with the next one",
    )
    _add_options(add)
    listing = _verb(verbs, "list", server, "list mappings")
    listing.add_argument("--function", metavar="NAME", help="only those of a function")
    show = _verb(verbs, "show", server, "describe a mapping as JSON")
    update = _verb(verbs, "update", server, "change a mapping")
    remove = _verb(verbs, "remove", server, "part a stream from its function")
    for verb in (show, update, remove):
        verb.add_argument("uuid", help="the id of a mapping")
    update.add_argument("--function", metavar="NAME", help="another function")
    _add_options(update)
    _add_function_commands(verbs, server)


def _server_flags() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser(add_help=False)
    flags.add_argument(
        "--endpoint",
        "--endpoint-url",
        metavar="URL",
        help=f"the server (default: {DEFAULT_ENDPOINT})",
    )
    flags.add_argument("--region", metavar="NAME", help=f"default: {DEFAULT_REGION}")
    return flags


def _verb(
    verbs: Any, name: str, server: argparse.ArgumentParser, text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, description=text.capitalize() + ".", parents=[server], allow_abbrev=False
    )
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    for flag, _, text in _NUMBERS:
        parser.add_argument(f"--{flag}", type=int, metavar="NUMBER", help=text)
    for flag, _, text in _SWITCHES:
        parser.add_argument(f"--{flag}", action=argparse.BooleanOptionalAction, help=text)
    parser.add_argument(
        "--report-failures",
        action=argparse.BooleanOptionalAction,
        help="the function answers which records it failed at",
    )
    parser.add_argument(
        "--filter",
        action="append",
        dest="filters",
        metavar="JSON",
        help="pattern of records to deliver; may be repeated",
    )
    parser.add_argument(
        "--on-failure",
        metavar="WHERE",
        help="where discarded batches are reported: file:// or http(s):// URL, or a function",
    )


def _add_function_commands(verbs: Any, server: argparse.ArgumentParser) -> None:
    functions = verbs.add_parser("functions", help="manage functions")
    acts = functions.add_subparsers(dest="act", required=True, metavar="ACT")
    add = _verb(acts, "add", server, "register a function, or change it")
    kind = add.add_mutually_exclusive_group(required=True)
    kind.add_argument("--python", metavar="MODULE:FUNCTION", help="a Python function")
    kind.add_argument("--http", metavar="URL", help="an endpoint that events are posted to")
    kind.add_argument("--command", dest="line", metavar="LINE", help="a command line")
    add.add_argument("--directory", metavar="PATH", help="where it runs (default: here)")
    add.add_argument("--timeout", type=int, metavar="SECONDS", help="of an invocation")
    add.add_argument("--concurrency", type=int, metavar="NUMBER", help="invocations at a time")
    add.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    _verb(acts, "list", server, "list functions")
    show = _verb(acts, "show", server, "describe a function as JSON")
    remove = _verb(acts, "remove", server, "forget a function")
    for act in (add, show, remove):
        act.add_argument("name", help="the name of a function")


def run(given: argparse.Namespace) -> int:
    """Carry out a command; return the exit status."""
    environment = os.environ
    url = (
        given.endpoint
        or environment.get("HASHRANGE_ENDPOINT")
        or environment.get("AWS_ENDPOINT_URL_DYNAMODB")
        or environment.get("AWS_ENDPOINT_URL")
        or DEFAULT_ENDPOINT
    )
    region = given.region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    try:
        endpoint = Endpoint(url, region or DEFAULT_REGION, environment)
        if given.verb == "functions":
            _FUNCTION_ACTS[given.act](endpoint, given)
        else:
            _VERBS[given.verb](endpoint, given)
    except CallError as error:
        sys.stderr.write(f"hashrange: {error}\n")
        return 1
    return 0


def _add(endpoint: Endpoint, given: argparse.Namespace) -> None:
    request = _options(given) | {
        "FunctionName": given.function,
        "EventSourceArn": given.stream or _stream_of(endpoint, given.table),
        "StartingPosition": _STARTS[given.start],
    }
    created = endpoint.send("POST", _MAPPINGS, request)
    sys.stdout.write(f"{created['UUID']}\n")


def _list(endpoint: Endpoint, given: argparse.Namespace) -> None:
    query = {} if given.function is None else {"FunctionName": given.function}
    rows = [("ID", "FUNCTION", "TABLE", "STATE", "LAST RESULT")]
    while True:
        page = endpoint.send("GET", _MAPPINGS, query=query)
        for mapping in page["EventSourceMappings"]:
            function = mapping["FunctionArn"].rpartition(":")[2]
            table = mapping["EventSourceArn"].split("/")[1]
            state, result = mapping["State"], mapping["LastProcessingResult"]
            rows.append((mapping["UUID"], function, table, state, result))
        if "NextMarker" not in page:
            break
        query["Marker"] = page["NextMarker"]
    _print_rows(rows)


def _show(endpoint: Endpoint, given: argparse.Namespace) -> None:
    _print(endpoint.send("GET", f"{_MAPPINGS}/{given.uuid}"))


def _update(endpoint: Endpoint, given: argparse.Namespace) -> None:
    request = _options(given)
    if given.function is not None:
        request["FunctionName"] = given.function
    _print(endpoint.send("PUT", f"{_MAPPINGS}/{given.uuid}", request))


def _remove(endpoint: Endpoint, given: argparse.Namespace) -> None:
    endpoint.send("DELETE", f"{_MAPPINGS}/{given.uuid}")


def _options(given: argparse.Namespace) -> dict[str, Any]:
    """Return what a request says for the flags that were given."""
    values = vars(given)
    request: dict[str, Any] = {}
    for flag, member, _ in (*_NUMBERS, *_SWITCHES):
        value = values[flag.replace("-", "_")]
        if value is not None:
            request[member] = value
    if given.filters is not None:
        request["FilterCriteria"] = {"Filters": [{"Pattern": text} for text in given.filters]}
    if given.report_failures is not None:
        types = ["ReportBatchItemFailures"] if given.report_failures else []
        request["FunctionResponseTypes"] = types
    if given.on_failure is not None:
        request["DestinationConfig"] = {"OnFailure": {"Destination": given.on_failure}}
    return request


def _stream_of(endpoint: Endpoint, table: str) -> str:
    description = endpoint.call("DescribeTable", {"TableName": table})["Table"]
    if not description.get("StreamSpecification", {}).get("StreamEnabled"):
        raise CallError(f"Table {table} has no stream; UpdateTable can give it one.")
    arn: str = description["LatestStreamArn"]
    return arn


def _add_function(endpoint: Endpoint, given: argparse.Namespace) -> None:
    targets = {"python": given.python, "http": given.http, "command": given.line}
    kind, target = next((kind, target) for kind, target in targets.items() if target is not None)
    request: dict[str, Any] = {
        "Kind": kind,
        "Target": target,
        "Directory": os.path.abspath(given.directory or "."),
        "Environment": dict(_split_variable(text) for text in given.env),
    }
    if given.timeout is not None:
        request["TimeoutSeconds"] = given.timeout
    if given.concurrency is not None:
        request["Concurrency"] = given.concurrency
    endpoint.send("PUT", f"{_FUNCTIONS}/{given.name}", request)


def _split_variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise CallError(f"{text} is not NAME=VALUE.")
    return name, value


def _list_functions(endpoint: Endpoint, given: argparse.Namespace) -> None:
    found = endpoint.send("GET", _FUNCTIONS)["Functions"]
    rows = [(function["Name"], function["Kind"], function["Target"]) for function in found]
    _print_rows([("NAME", "KIND", "TARGET"), *rows])


def _show_function(endpoint: Endpoint, given: argparse.Namespace) -> None:
    _print(endpoint.send("GET", f"{_FUNCTIONS}/{given.name}"))


def _remove_function(endpoint: Endpoint, given: argparse.Namespace) -> None:
    endpoint.send("DELETE", f"{_FUNCTIONS}/{given.name}")


_VERBS: Final = {
    "add": _add,
    "list": _list,
    "show": _show,
    "update": _update,
    "remove": _remove,
}
_FUNCTION_ACTS: Final = {
    "add": _add_function,
    "list": _list_functions,
    "show": _show_function,
    "remove": _remove_function,
}


def _print(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _print_rows(rows: list[Any]) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
