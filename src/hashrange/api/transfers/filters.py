"""The filter of an export: keys, a condition on items, and the attributes to keep."""

from __future__ import annotations

from typing import Any, final

from hashrange.api.items.arguments import QueryArguments, read_query_arguments, read_scan_arguments
from hashrange.errors import ValidationException
from hashrange.model.schema import Table
from hashrange.model.values import Item
from hashrange.storage.reads import Span, query_span


@final
class ExportFilter:
    """Decides which items an export holds, and what of them."""

    __slots__ = ("_arguments", "_span")

    def __init__(self, table: Table, arguments: QueryArguments) -> None:
        self._arguments = arguments
        self._span: Span | None = None
        if arguments.key_condition is not None:
            partition, sort = (table.partition,), table.parts[1:]
            keys = arguments.key_condition.bind(partition, sort, None)
            place = (table.store, table.shards)
            self._span = query_span(place, partition, sort, keys, reverse=False)

    def holds(self, key: bytes, item: Item) -> bool:
        """Tell whether an item with these key bytes is exported."""
        if self._span is not None and not self._span.holds(key):
            return False
        condition = self._arguments.filter
        return condition is None or condition.matches(item)

    def project(self, item: Item) -> Item:
        """Return what is kept of an item."""
        projection = self._arguments.projection
        return item if projection is None else projection.apply(item)


def read_filter(table: Table, specification: dict[str, Any] | None) -> ExportFilter | None:
    """Return the filter that a request asks for; wrong expressions are refused as in Query."""
    if specification is None:
        return None
    if "KeyConditionExpression" in specification:
        return ExportFilter(table, read_query_arguments(specification))
    if not specification.keys() & {"FilterExpression", "ProjectionExpression"}:
        raise ValidationException(
            "One or more parameter values were invalid: FilterSpecification must have an expression"
        )
    return ExportFilter(table, read_scan_arguments(specification))
