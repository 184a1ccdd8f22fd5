"""Query: the items of one partition, in the order of their sort keys."""

from __future__ import annotations

from hashrange.api.items.arguments import QueryArguments, check_filter_keys, read_query_arguments
from hashrange.api.items.key_paths import check_paths
from hashrange.api.items.pages import Source, answer_page, check_reach, find_source
from hashrange.api.items.start_keys import (
    check_reachable,
    check_start_names,
    check_start_parts,
    start_position,
)
from hashrange.api.operation import Request, Response
from hashrange.api.recovery.changes import answer_changes
from hashrange.api.scope import RequestScope
from hashrange.model.values import Item, check_item
from hashrange.pauses import off_loop
from hashrange.storage.reads import Span, query_span


async def query(scope: RequestScope, request: Request) -> Response:
    """Return a page of the items that the key condition selects and the filter keeps."""
    start: Item | None = None if scope.between else request.get("ExclusiveStartKey")
    if scope.is_bulky:
        arguments = await off_loop(_check, request, start)
    else:
        arguments = _check(request, start)
    table = scope.known_table(request["TableName"]) or await scope.table(request["TableName"])
    source = find_source(scope, table, request)
    span = _find_span(source, request, arguments, start)
    if scope.between is not None:
        return await answer_changes(scope, request, table, span)
    check_paths(table, arguments.projection)
    if arguments.filter is not None:
        names = [part.name for part in (*source.partition, *source.sort)]
        check_filter_keys(arguments.filter, names)
    check_reach(source, request, arguments)
    check_paths(table, arguments.filter)
    return await answer_page(scope, request, source, span, arguments)


def _check(request: Request, start: Item | None) -> QueryArguments:
    """Check what needs no table."""
    arguments = read_query_arguments(request)
    if start is not None:
        check_item(start)
    return arguments


def _find_span(
    source: Source, request: Request, arguments: QueryArguments, start: Item | None
) -> Span:
    """Return the span to read: the keys of the condition, from the starting key on."""
    assert arguments.key_condition is not None
    if start is not None:
        check_start_names(source, start)
        check_start_parts(start, source.partition)
    index_name = None if source.index is None else source.index.name
    keys = arguments.key_condition.bind(source.partition, source.sort, index_name)
    reverse = request.get("ScanIndexForward") is False
    span = query_span(source.place, source.partition, source.sort, keys, reverse=reverse)
    if start is None:
        return span
    check_start_parts(start, source.sort)
    position = start_position(source, start)
    check_reachable(source, keys, start, position)
    return span.after(position)
