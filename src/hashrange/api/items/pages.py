"""Pages of Query and Scan: the table or index they read, the meaning of Select, the response."""

from __future__ import annotations

from typing import Any, final

from hashrange.api.items.admission import admit_read, charge_read
from hashrange.api.items.arguments import QueryArguments
from hashrange.api.items.consumed_capacity import Capacity, capacity_detail, read_units
from hashrange.api.items.keys import key_of
from hashrange.api.operation import Context, Request, Response
from hashrange.api.recovery.time_travel import past_view
from hashrange.api.scope import RequestScope
from hashrange.engine.base import STRONG
from hashrange.errors import ValidationException
from hashrange.expressions.conditions import Condition
from hashrange.expressions.projections import Projection
from hashrange.model.keys import item_key
from hashrange.model.schema import Index, KeyPart, Table
from hashrange.model.values import Item
from hashrange.pauses import Pace
from hashrange.storage.items import consistency_of, item_row, project, read_items
from hashrange.storage.layout import row_size, splice_all, unpack_item
from hashrange.storage.locked_ranges import finish_committed
from hashrange.storage.reads import Page, Place, Span, read_page

# Rows that are projected between two looks at the clock.
_SHOWN_ROWS = 64
_INVALID = "One or more parameter values were invalid: "


@final
class Source:
    """The table or index that is read, and whether table rows must be fetched too."""

    __slots__ = ("fetches", "index", "table")

    def __init__(self, table: Table, index: Index | None, *, fetches: bool) -> None:
        self.table = table
        self.index = index
        self.fetches = fetches

    @property
    def place(self) -> Place:
        source = self.table if self.index is None else self.index
        return source.store, source.shards

    @property
    def partition(self) -> tuple[KeyPart, ...]:
        return (self.table.partition,) if self.index is None else self.index.partition

    @property
    def sort(self) -> tuple[KeyPart, ...]:
        if self.index is not None:
            return self.index.sort
        return () if self.table.sort is None else (self.table.sort,)


def find_source(scope: RequestScope, table: Table, request: Request) -> Source:
    """Return the table or index that a query or scan reads."""
    index = _find_index(table, request)
    if index is not None:
        touch_index(scope, table, index)
    return Source(table, index, fetches=False)


def touch_index(scope: RequestScope, table: Table, index: Index) -> None:
    """Note that a request reads an index."""
    scope.touch(f"{table.arn}/index/{index.name}")


def check_reach(source: Source, request: Request, arguments: QueryArguments) -> None:
    """Note whether table rows must be fetched; refuse attributes the index cannot provide."""
    if source.index is not None:
        source.fetches = _reaches_beyond(source.index, request, arguments)
    elif request.get("Select") == "ALL_PROJECTED_ATTRIBUTES":
        raise ValidationException(
            f"{_INVALID}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )


def _find_index(table: Table, request: Request) -> Index | None:
    name = request.get("IndexName")
    if name is None:
        return None
    index = table.by_name.get(name)
    if index is None:
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.is_global and request.get("ConsistentRead"):
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    if not index.queryable:
        raise ValidationException(
            f"Cannot read from backfilling global secondary index: {index.name}"
        )
    return index


def _reaches_beyond(index: Index, request: Request, arguments: QueryArguments) -> bool:
    """Tell whether attributes are wanted that the index does not hold; only local ones may.

    A filter never reaches beyond: a query naming other attributes is refused, a scan finds them
    absent.
    """
    if index.projected is None:
        return False
    if arguments.filter is not None and arguments.key_condition is not None:
        unseen = sorted(arguments.filter.attributes - index.projected)
        if unseen:
            raise ValidationException(
                f"{_INVALID}Secondary index {index.name} does not project one or more filter "
                f"attributes: [{', '.join(unseen)}]"
            )
    if request.get("Select") == "ALL_ATTRIBUTES":
        if index.is_global:
            raise ValidationException(
                f"{_INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary "
                f"index {index.name} because its projection type is not ALL"
            )
        return True
    if arguments.projection is None:
        return False
    missing = sorted(arguments.projection.attributes - index.projected)
    if missing and index.is_global:
        raise ValidationException(
            f"{_INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    return bool(missing)


async def answer_page(
    scope: RequestScope,
    request: Request,
    source: Source,
    span: Span,
    arguments: QueryArguments,
) -> Response:
    """Read one page of a span and return it as a response."""
    context = scope.context
    if source.table.meter is not None:
        admit_read(scope, source.table, source.index, span.lower)
    if scope.at is None and source.table.has_locks and request.get("ConsistentRead"):
        await finish_committed(context.engine, source.table, span.lower, span.upper)
    page = await read_page(
        context.engine if scope.at is None else await past_view(scope, source.table, request),
        span,
        limit=request.get("Limit"),
        condition=None if source.fetches else arguments.filter,
        consistency=consistency_of(request.get("ConsistentRead", False)),
    )
    fetched: list[int] = []
    if source.fetches:
        fetched = await fetch_rows(context, source.table, page, arguments.filter)
    response: Response = {"Count": len(page.rows), "ScannedCount": page.scanned_count}
    if request.get("Select") != "COUNT":
        projection = arguments.projection
        response["Items"] = (
            splice_all(page.rows) if projection is None else await _project(page, projection)
        )
    if page.last_row is not None:
        response["LastEvaluatedKey"] = key_of(
            source.table, source.index, unpack_item(page.last_row)
        )
    note_page(scope, page)
    consistent = request.get("ConsistentRead", False)
    units = read_units(page.scanned_bytes, consistent=consistent)
    capacity = page_capacity(source, units, fetched, consistent=consistent)
    note_capacity(scope, capacity, source, span.lower)
    detail = capacity_detail(request)
    if detail is not None:
        response["ConsumedCapacity"] = capacity.document(detail)
    return response


def note_capacity(scope: RequestScope, capacity: Capacity, source: Source, key: bytes) -> None:
    """Note the units of a page and charge them; `key` is where its span begins."""
    capacity.note_reads(scope)
    if source.table.meter is not None:
        if capacity.table_units:
            charge_read(scope, source.table, None, key, capacity.table_units)
        for units in capacity.indexes.values():
            charge_read(scope, source.table, source.index, key, units)


def note_page(scope: RequestScope, page: Page) -> None:
    """Note the rows that a page examined and those it returns."""
    scope.note_rows(page.scanned_count, page.scanned_bytes, len(page.rows), page.kept_bytes)


async def _project(page: Page, projection: Projection) -> list[Any]:
    pace = Pace()
    shown: list[Any] = []
    for start in range(0, len(page.rows), _SHOWN_ROWS):
        if page.items:
            shown += [projection.apply(item) for item in page.items[start : start + _SHOWN_ROWS]]
        else:
            shown += [project(row, projection) for row in page.rows[start : start + _SHOWN_ROWS]]
        if pace.is_over():
            await pace.pause_or_restart()
    return shown


async def fetch_rows(
    context: Context, table: Table, page: Page, condition: Condition | None
) -> list[int]:
    """Replace the index rows of a page by their table rows, filtered; return the sizes read."""
    keys = [item_row(table, item_key(table.parts, unpack_item(row))) for row in page.rows]
    rows: list[bytes] = []
    items: list[Item] = []
    sizes: list[int] = []
    page.kept_bytes = 0
    for row in await read_items(context.engine, keys, STRONG):
        if row is None:
            continue
        size = row_size(row)
        sizes.append(size)
        item = unpack_item(row)
        if condition is None or condition.matches(item):
            rows.append(row)
            items.append(item)
            page.kept_bytes += size
    page.rows = rows
    page.items = items
    return sizes


def page_capacity(
    source: Source, units: float, fetched: list[int], *, consistent: bool
) -> Capacity:
    """Return what a page consumed: the units of its rows and of the table rows fetched for them."""
    if source.index is None:
        return Capacity(source.table, units)
    capacity = Capacity(source.table)
    capacity.charge_index(source.index.name, units)
    for size in fetched:
        capacity.table_units += read_units(size, consistent=consistent)
    return capacity
