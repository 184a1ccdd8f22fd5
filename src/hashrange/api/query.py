"""Query: the items of one partition, in the order of their sort keys."""

from __future__ import annotations

from hashrange.api.arguments import check_filter_keys, read_query_arguments
from hashrange.api.keys import start_key
from hashrange.api.operation import Context, Request, Response
from hashrange.api.pages import Source, answer_page, find_source
from hashrange.errors import ValidationException
from hashrange.model.values import Item, check_item
from hashrange.storage.reads import Span, query_span


async def query(context: Context, request: Request) -> Response:
    """Return a page of the items that the key condition selects and the filter keeps."""
    arguments = read_query_arguments(request)
    start: Item | None = request.get("ExclusiveStartKey")
    if start is not None:
        check_item(start)
    table = await context.catalog.table(context.account, context.region, request["TableName"])
    source = find_source(table, request, arguments)
    assert arguments.key_condition is not None
    keys = arguments.key_condition.bind(source.partition, source.sort)
    if arguments.filter is not None:
        names = [part.name for part in (*source.partition, *source.sort)]
        check_filter_keys(arguments.filter, names)
    reverse = request.get("ScanIndexForward") is False
    span = query_span(source.store, source.partition, source.sort, keys, reverse=reverse)
    if start is not None:
        position = start_key(table, source.index, start)
        _check_start(span, position, start, source, keys.partition)
        span = span.after(position)
    return await answer_page(context, request, source, span, arguments)


def _check_start(
    span: Span, position: bytes, start: Item, source: Source, partition: tuple[object, ...]
) -> None:
    """Refuse a starting key that the query itself could not have reached."""
    for part, value in zip(source.partition, partition, strict=True):
        if start[part.name] != value:
            raise ValidationException(
                "The provided starting key is outside query boundaries based on provided conditions"
            )
    if not span.lower <= position < span.upper:
        raise ValidationException(
            "The provided starting key does not match the range key predicate"
        )
