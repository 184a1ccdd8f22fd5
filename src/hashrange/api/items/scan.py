"""Scan: every item of a table or index, or one segment of them."""

from __future__ import annotations

from hashrange.api.items.arguments import QueryArguments, read_scan_arguments
from hashrange.api.items.key_paths import check_paths
from hashrange.api.items.pages import answer_page, check_reach, find_source
from hashrange.api.items.start_keys import (
    INVALID_START,
    check_start_names,
    check_start_parts,
    start_position,
)
from hashrange.api.operation import Request, Response
from hashrange.api.recovery.changes import answer_changes
from hashrange.api.scope import RequestScope
from hashrange.errors import ValidationException
from hashrange.model.values import OLDER, Item, check_item
from hashrange.pauses import off_loop
from hashrange.storage.layout import segment_bounds
from hashrange.storage.reads import Span


async def scan(scope: RequestScope, request: Request) -> Response:
    """Return a page of the items that the filter keeps."""
    start: Item | None = None if scope.between else request.get("ExclusiveStartKey")
    if scope.is_bulky:
        arguments, (segment, total_segments) = await off_loop(_check, request, start)
    else:
        arguments, (segment, total_segments) = _check(request, start)
    table = scope.known_table(request["TableName"]) or await scope.table(request["TableName"])
    source = find_source(scope, table, request)
    if start is not None and source.index is not None:
        check_start_names(source, start)
        check_start_parts(start, (*source.partition, *source.sort))
    check_reach(source, request, arguments)
    span = Span(source.place, *segment_bounds(segment, total_segments))
    if scope.between is not None:
        return await answer_changes(scope, request, table, span)
    if start is not None:
        position = start_position(source, start)
        if not span.holds(position):
            raise ValidationException(
                f"{INVALID_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with "
                f"correct Segment. TotalSegments: {total_segments} Segment: {segment}"
            )
        span = span.after(position)
    check_paths(table, arguments.projection)
    check_paths(table, arguments.filter)
    return await answer_page(scope, request, source, span, arguments)


def _check(request: Request, start: Item | None) -> tuple[QueryArguments, tuple[int, int]]:
    """Check what needs no table; return the arguments, the segment and the number of segments."""
    arguments = read_scan_arguments(request)
    segments = _segments(request)
    if start is not None:
        check_item(start, OLDER)
    return arguments, segments


def _segments(request: Request) -> tuple[int, int]:
    """Return the segment and the number of segments of a parallel scan."""
    segment, total_segments = request.get("Segment"), request.get("TotalSegments")
    if segment is None and total_segments is None:
        return 0, 1
    if total_segments is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if segment is None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present"
        )
    if segment >= total_segments:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total_segments}"
        )
    return segment, total_segments
