"""StreamSpecification of CreateTable and UpdateTable: how streams of tables begin and end."""

from __future__ import annotations

from typing import Any

from hashrange.api.operation import Context
from hashrange.api.tables.definition_checks import INVALID
from hashrange.engine.base import STRONG
from hashrange.errors import ValidationException
from hashrange.model.records import TableRecord
from hashrange.model.streams import StreamRecord, stream_label
from hashrange.storage.catalog import STORE as CATALOG_STORE
from hashrange.storage.catalog import Edit, stream_key
from hashrange.storage.streams import mark_shards


def check_new_stream(specification: dict[str, Any] | None) -> None:
    """Check the StreamSpecification of a new table."""
    if specification is None:
        return
    if specification["StreamEnabled"] and "StreamViewType" not in specification:
        raise ValidationException(
            f"{INVALID}Table is being created with a stream enabled, UpdateViewType is required"
        )
    if not specification["StreamEnabled"] and "StreamViewType" in specification:
        raise ValidationException(
            f"{INVALID}Table is being created with a stream disabled, UpdateViewType should not "
            "be specified"
        )


def check_stream_update(request: dict[str, Any]) -> None:
    """Check the StreamSpecification of an UpdateTable, as far as the request alone allows."""
    specification = request.get("StreamSpecification")
    if specification is None:
        return
    if specification["StreamEnabled"] and "StreamViewType" not in specification:
        raise ValidationException(
            f"{INVALID}If stream is being enabled then UpdateViewType is required"
        )
    if not specification["StreamEnabled"] and "StreamViewType" in specification:
        raise ValidationException(
            f"{INVALID}If stream is being disabled, then UpdateViewType must not be specified"
        )
    if "ProvisionedThroughput" in request:
        raise ValidationException("You cannot modify stream status while updating table IOPS")


async def choose_label(context: Context, table: str, now: float) -> str:
    """Return a label for a stream created now, different from those of all kept streams."""
    while True:
        label = stream_label(now)
        key = stream_key(context.account, context.region, table, label)
        (row,) = await context.engine.read([(CATALOG_STORE, 0, key)], STRONG)
        if row is None:
            return label
        now += 0.001


def begin_stream(
    record: TableRecord, view_type: str, place: tuple[str, str], now: float, edit: Edit
) -> None:
    """Give a table a new stream; `place` is its label and the name of its store."""
    label, name = place
    store = f"{record.store}.{name}"
    stream = StreamRecord(
        account=record.account,
        region=record.region,
        table=record.name,
        label=label,
        view_type=view_type,
        store=store,
        store_shards=record.shards,
        key_schema=record.key_schema,
        created_at=now,
        settled_at=max(record.active_at, record.updated_until),
    )
    opened = stream.open_first(now)
    record.stream = edit.stream = stream
    edit.creates.append(store)
    mark_shards(edit, stream, closed=[], opened=opened)


def end_stream(record: TableRecord, now: float, settled_at: float, edit: Edit) -> None:
    """Disable a table's stream, if it has one that is enabled."""
    stream = record.stream
    if stream is not None and stream.is_enabled:
        mark_shards(edit, stream, closed=stream.disable(now, settled_at), opened=[])
        edit.stream = stream


def change_stream(
    record: TableRecord,
    specification: dict[str, Any],
    place: tuple[str, str],
    now: float,
    edit: Edit,
) -> None:
    """Enable or disable the stream of a table."""
    is_enabled = record.stream is not None and record.stream.is_enabled
    if specification["StreamEnabled"]:
        if is_enabled:
            raise ValidationException(
                f"Table already has an enabled stream: TableName: {record.name}"
            )
        begin_stream(record, specification["StreamViewType"], place, now, edit)
        return
    if not is_enabled:
        raise ValidationException(f"Table has no stream to disable: TableName: {record.name}")
    end_stream(record, now, record.updated_until, edit)
