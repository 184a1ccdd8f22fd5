"""SELECT statements: reads key spans page by page, or a single item."""

from __future__ import annotations

from typing import Any

from hashrange.api.items.admission import admit_read
from hashrange.api.items.arguments import check_scalar_keys
from hashrange.api.items.consumed_capacity import capacity_detail, read_units
from hashrange.api.items.keys import key_of
from hashrange.api.items.pages import (
    Source,
    note_capacity,
    note_page,
    page_capacity,
    touch_index,
)
from hashrange.api.operation import Context, Request, Response
from hashrange.api.partiql.keys import KeyPlan, plan_keys
from hashrange.api.partiql.next_tokens import remaining_spans, write_token
from hashrange.api.scope import RequestScope
from hashrange.engine.base import STRONG
from hashrange.errors import ValidationException
from hashrange.expressions.binding import Values
from hashrange.expressions.conditions import Condition
from hashrange.expressions.partiql.selection import Selection
from hashrange.expressions.partiql.statements import SelectStatement
from hashrange.expressions.partiql.where import Where
from hashrange.model.keys import index_key, item_key
from hashrange.model.schema import Index, Table
from hashrange.storage.items import consistency_of, item_row, read_items
from hashrange.storage.layout import row_size, segment_bounds, splice_all, unpack_item
from hashrange.storage.locked_ranges import finish_committed
from hashrange.storage.reads import Page, Span, read_page

_INVALID = "One or more parameter values were invalid: "


def find_source(table: Table, statement: SelectStatement, *, consistent: bool) -> Source:
    """Return the table or index of a SELECT; it may select attributes beyond a local index."""
    index = _find_index(table, statement.index_name, consistent=consistent)
    if statement.selection_refusal is not None:
        raise ValidationException(statement.selection_refusal)
    if index is None or index.projected is None or statement.selection is None:
        return Source(table, index, fetches=False)
    missing = [name for name in statement.selection.attributes if name not in index.projected]
    if missing and index.is_global:
        raise ValidationException(
            f"{_INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return Source(table, index, fetches=bool(missing))


def _find_index(table: Table, name: str | None, *, consistent: bool) -> Index | None:
    if name is None:
        return None
    index = table.by_name.get(name)
    if index is None:
        raise ValidationException("The table does not have the specified index")
    if len(index.partition) > 1 or len(index.sort) > 1:
        raise ValidationException(
            "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or "
            "multi-attribute RANGE keys."
        )
    if index.is_global and consistent:
        raise ValidationException(
            "Strongly consistent read is not supported on Global Secondary Indexes"
        )
    if not index.queryable:
        raise ValidationException(
            f"Cannot read from backfilling global secondary index: {index.name}"
        )
    return index


async def run_select(
    scope: RequestScope, request: Request, statement: SelectStatement, values: Values
) -> Response:
    """Return a page of the result of a SELECT."""
    consistent: bool = request.get("ConsistentRead", False)
    table = await scope.table(statement.table_name)
    source = find_source(table, statement, consistent=consistent)
    if source.index is not None:
        touch_index(scope, table, source.index)
    where = statement.where
    _check_paths(source, where)
    reverse, descends = _directions(source, statement)
    plan = plan_keys(source, where, values, reverse=reverse, descends=descends)
    _check_plan(source, statement, plan)
    condition = None if where is None or plan.is_exact else where.bind(values)
    return await _read(scope, request, source, plan, (condition, statement.selection))


def _check_paths(source: Source, where: Where | None) -> None:
    if where is not None:
        check_scalar_keys(where.nested_attributes, source.table.key_names, "Key")
        if source.index is not None:
            check_scalar_keys(where.nested_attributes, source.index.key_names, "IndexKey")


def _directions(source: Source, statement: SelectStatement) -> tuple[bool, bool]:
    """Return whether sort keys and whether partition keys are read backwards."""
    if not statement.order:
        return False, False
    if statement.where is None:
        raise ValidationException(
            "Must have WHERE clause in the statement when using ORDER BY clause."
        )
    partition = source.partition[0].name
    names = {partition, *(part.name for part in source.sort)}
    reverse = descends = False
    for name, is_descending in statement.order:
        if name not in names:
            raise ValidationException(
                f"Variable reference {name} in ORDER BY clause must be part of the primary key"
            )
        if name == partition:
            descends = is_descending
        else:
            reverse = is_descending
    return reverse, descends


def _check_plan(source: Source, statement: SelectStatement, plan: KeyPlan) -> None:
    if statement.order and not plan.spans:
        raise ValidationException(
            "Must have at least one non-optional hash key condition in WHERE clause when using "
            "ORDER BY clause."
        )
    index = source.index
    if index is None or index.projected is None or not plan.spans:
        return
    wanted = [name for conjunct in plan.leftover for name in sorted(conjunct.attributes)]
    missing = [name for name in dict.fromkeys(wanted) if name not in index.projected]
    if missing:
        raise ValidationException(
            f"{_INVALID}Secondary index {index.name} does not project one or more filter "
            f"attributes: [{', '.join(missing)}]"
        )


async def _read(
    scope: RequestScope,
    request: Request,
    source: Source,
    plan: KeyPlan,
    shown: tuple[Condition | None, Selection | None],
) -> Response:
    """Read one page of the spans of a plan, or of all keys, and return it as a response."""
    context = scope.context
    condition, selection = shown
    consistent: bool = request.get("ConsistentRead", False)
    spans = plan.spans or [Span(source.place, *segment_bounds(0, 1))]
    number, spans = remaining_spans(request, spans)
    first = spans[0].lower if spans else b""
    if source.table.meter is not None:
        admit_read(scope, source.table, source.index, first)
    page = Page()
    units = 0.0
    limit: int | None = request.get("Limit")
    for span in spans:
        before, looked_at = page.scanned_bytes, page.scanned_count
        if consistent and source.table.has_locks:
            await finish_committed(context.engine, source.table, span.lower, span.upper)
        await read_page(
            context.engine,
            span,
            limit=None if limit is None else limit - looked_at,
            condition=None if source.fetches else condition,
            consistency=consistency_of(consistent),
            page=page,
        )
        units += read_units(page.scanned_bytes - before, consistent=consistent)
        if page.last_row is not None:
            break
        number += 1
    fetched: list[int] = []
    if source.fetches:
        fetched = await _fetch(context, source.table, page, condition)
    response: Response = {"Items": _items(page, selection)}
    if page.last_row is not None:
        item = unpack_item(page.last_row)
        response["LastEvaluatedKey"] = key_of(source.table, source.index, item)
        response["NextToken"] = write_token(request, number, _position(source, item))
    note_page(scope, page)
    capacity = page_capacity(source, units, fetched, consistent=consistent)
    note_capacity(scope, capacity, source, first)
    detail = capacity_detail(request)
    if detail is not None:
        response["ConsumedCapacity"] = capacity.document(detail)
    return response


def _position(source: Source, item: dict[str, Any]) -> bytes:
    if source.index is None:
        return item_key(source.table.parts, item)
    position = index_key(source.index, source.table, item)
    assert position is not None
    return position


def _items(page: Page, selection: Selection | None) -> list[Any]:
    if selection is None:
        return splice_all(page.rows)
    if page.items:
        return [selection.apply(item) for item in page.items]
    return [selection.apply(unpack_item(row)) for row in page.rows]


async def _fetch(
    context: Context, table: Table, page: Page, condition: Condition | None
) -> list[int]:
    """Replace the index rows that pass the filter by their table rows; return all sizes read.

    Every row looked at is fetched and paid for, whether the filter keeps it or not.
    """
    index_items = [unpack_item(row) for row in page.rows]
    keys = [item_row(table, item_key(table.parts, item)) for item in index_items]
    found = await read_items(context.engine, keys, STRONG)
    rows: list[bytes] = []
    sizes: list[int] = []
    page.kept_bytes = 0
    for item, row in zip(index_items, found, strict=True):
        if row is None:
            continue
        size = row_size(row)
        sizes.append(size)
        if condition is None or condition.matches(item):
            rows.append(row)
            page.kept_bytes += size
    page.rows = rows
    page.items = []
    return sizes
