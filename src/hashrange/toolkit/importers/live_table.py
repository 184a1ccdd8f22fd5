"""A design from a live table: its description, and entities inferred from a sample of its items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.operations import TableContext, scan_fetch
from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Table
from hashrange.toolkit.errors import RequestRefused
from hashrange.toolkit.importers.inference import infer_entities
from hashrange.toolkit.importers.table_documents import table_from_document
from hashrange.toolkit.values import Item


def design_from_live_table(
    client: Any, *tables: str, name: str = "imported", sample: int = 1000
) -> Design:
    """Return the design of live tables; up to `sample` items of each are read to infer entities.

    The items are the first of a scan, which is random order by partition, not a random sample.
    """
    driver = client if isinstance(client, SyncDriver) else SyncDriver(client)
    found = [driver.run(_import(TableContext(table), sample)) for table in tables]
    entities = [entity for _, inferred in found for entity in inferred]
    names = [entity.name for entity in entities]
    unique = [
        replace(entity, name=f"{entity.table}_{entity.name}".replace("-", "_").replace(".", "_"))
        if names.count(entity.name) > 1
        else entity
        for entity in entities
    ]
    return Design(name, tuple(table for table, _ in found), tuple(unique))


def _import(context: TableContext, sample: int) -> Plan[tuple[Table, tuple[Any, ...]]]:
    description = (yield from context.send("describe_table", {}))["Table"]
    table = table_from_document(description)
    expiry = yield from _setting(context, "describe_time_to_live", "TimeToLiveDescription")
    backups = yield from _setting(
        context, "describe_continuous_backups", "ContinuousBackupsDescription"
    )
    recovery = backups.get("PointInTimeRecoveryDescription", {})
    items = yield from _sample(context, sample)
    inferred = infer_entities(table, items, description.get("ItemCount"))
    is_expiring = expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    table = replace(
        table,
        ttl=expiry.get("AttributeName", "") if is_expiring else "",
        point_in_time_recovery=recovery.get("PointInTimeRecoveryStatus") == "ENABLED",
        entity_attribute=inferred.entity_attribute,
    )
    return table, inferred.entities


def _setting(context: TableContext, method: str, name: str) -> Plan[dict[str, Any]]:
    """Return a description; an empty one if the service does not know such a thing."""
    try:
        answer = yield from context.send(method, {})
    except RequestRefused as error:
        if error.code not in ("UnknownOperationException", "AccessDeniedException"):
            raise
        return {}
    description: dict[str, Any] = answer[name]
    return description


def _sample(context: TableContext, count: int) -> Plan[list[Item]]:
    fetch = scan_fetch(context, {})
    items: list[Item] = []
    position = None
    while len(items) < count:
        page = yield from fetch(position, count - len(items))
        items += page.items
        position = page.next
        if position is None:
            break
    return items
