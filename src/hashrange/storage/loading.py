"""The catalog's side of a bulk load: the table is made CREATING, then becomes ACTIVE or is dropped.

Each change compares the id of the table, and may be repeated.
"""

from __future__ import annotations

from hashrange.errors import ResourceInUseException, ResourceNotFoundException
from hashrange.model.records import TableRecord
from hashrange.storage.catalog import Catalog, Edit


async def begin_load(catalog: Catalog, record: TableRecord) -> None:
    """Make the table of a record, unless it was made before."""
    record.is_loading = True

    def create(existing: TableRecord | None) -> Edit:
        if existing is None:
            return Edit(record, creates=record.stores())
        if existing.id != record.id:
            raise ResourceInUseException(f"Table already exists: {record.name}")
        return Edit(existing, is_seen_by_requests=False)

    await catalog.change(record.account, record.region, record.name, create)


async def end_load(catalog: Catalog, record: TableRecord) -> None:
    """Make a loaded table ACTIVE."""

    def end(current: TableRecord | None) -> Edit:
        if current is None or current.id != record.id:
            raise ResourceNotFoundException(f"Table {record.name} is gone")
        if not current.is_loading:
            return Edit(current, is_seen_by_requests=False)
        current.is_loading = False
        return Edit(current)

    await catalog.change(record.account, record.region, record.name, end)


async def abandon_load(catalog: Catalog, record: TableRecord) -> None:
    """Drop a table that is being loaded, unless it is complete or gone."""

    def drop(current: TableRecord | None) -> Edit:
        if current is None or current.id != record.id or not current.is_loading:
            return Edit(current, is_seen_by_requests=False)
        return Edit(None, drops=current.stores(), fills_ended=current.fills())

    await catalog.change(record.account, record.region, record.name, drop)
