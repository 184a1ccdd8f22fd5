"""Migrations: what differs, estimates, back-fills that resume, verification, roll-back."""

import dataclasses
import itertools
from typing import Any

import pytest

from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.tables import TableClient
from hashrange.toolkit.design.entities import Attribute, Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern
from hashrange.toolkit.design.tables import Index, KeyAttribute, Table
from hashrange.toolkit.errors import MigrationError
from hashrange.toolkit.migrations.backfill import Backfill, BackfillOptions
from hashrange.toolkit.migrations.differences import differences
from hashrange.toolkit.migrations.migration import Migration
from tests.harness.presence import there

TABLE = Table("Shop", "PK", "SK")
ORDER = Entity(
    "order",
    {"PK": "USER#{user_id}", "SK": "ORDER#{order_id}"},
    dict,
    attributes=(Attribute("user_id"), Attribute("order_id"), Attribute("status")),
)
BEFORE = Design("shop", (TABLE,), (ORDER,), (AccessPattern("save", "put", ("order",)),))
AFTER = Design(
    "shop",
    (
        dataclasses.replace(
            TABLE,
            indexes=(Index("ByStatus", "status_key", "SK"),),
            ttl="expires_at",
            stream="NEW_IMAGE",
        ),
        Table("Audit", "id"),
    ),
    (
        dataclasses.replace(
            ORDER,
            keys={**ORDER.keys, "status_key": "STATUS#{status}"},
            table="Shop",
            attributes=(
                *ORDER.attributes,
                Attribute("currency"),
                Attribute("note", required=False),
            ),
        ),
        Entity("event", {}, dict, "Audit", (Attribute("id"),)),
    ),
    (
        AccessPattern("save", "put", ("order",)),
        AccessPattern("by_status", "query", ("order",), index="ByStatus"),
    ),
)


@pytest.fixture
def shop(service):
    bound = BoundDesign(BEFORE, service)
    bound.create_tables()
    for user, order in itertools.product(range(5), range(8)):
        status = "open" if order % 2 else "paid"
        bound.save({"user_id": str(user), "order_id": str(order), "status": status})
    return bound


def quiet(client):
    return SyncDriver(client, sleep=lambda seconds: None)


def test_differences_are_sorted_by_what_they_need():
    found = [str(each) for each in differences(BEFORE, AFTER)]
    assert found == [
        "additive: table:Shop: items expire by expires_at",
        "additive: table:Shop: the stream becomes NEW_IMAGE",
        "additive: index:Shop.ByStatus: the index is new",
        "additive: table:Audit: the table is new",
        "additive: attribute:order.note: the attribute is new and optional",
        "additive: entity:event: the entity is new",
        "additive: pattern:by_status: the access pattern is new",
        "backfill: entity:order: items get status_key = 'STATUS#{status}'",
        "backfill: attribute:order.currency: the attribute is required, and items lack it",
    ]


def test_what_needs_a_new_table_is_called_destructive():
    changed = dataclasses.replace(
        BEFORE,
        tables=(Table("Shop", "PK", KeyAttribute("SK", "S"), ttl="x"),),
        entities=(dataclasses.replace(ORDER, keys={"PK": "U#{user_id}", "SK": "{order_id}"}),),
    )
    kinds = {each.kind for each in differences(BEFORE, changed)}
    assert kinds == {"destructive", "additive"}
    new_key = dataclasses.replace(BEFORE, tables=(Table("Shop", "PK"),), entities=(), patterns=())
    assert any("primary key" in each.text for each in differences(BEFORE, new_key))
    local = dataclasses.replace(
        BEFORE, tables=(dataclasses.replace(TABLE, indexes=(Index("L", "PK", "x", "local"),)),)
    )
    assert [each.kind for each in differences(BEFORE, local)] == ["destructive"]


def test_a_destructive_migration_is_refused(shop, service):
    changed = dataclasses.replace(
        BEFORE, entities=(dataclasses.replace(ORDER, keys={"PK": "U#{user_id}", "SK": "o"}),)
    )
    with pytest.raises(MigrationError, match="copied under new keys"):
        Migration(BEFORE, changed, service).apply()


def test_a_migration_changes_structure_then_items_and_is_verified(shop, service):
    migration = Migration(BEFORE, AFTER, quiet(service))
    applied = migration.apply()
    assert {each.action for each in applied} == {
        "create_table",
        "add_index",
        "set_ttl",
        "set_stream",
    }
    defaults = {"currency": "EUR"}
    with pytest.raises(MigrationError, match="40 items"):
        migration.verify({"order": defaults})
    report = migration.backfill("order", defaults).run()
    assert (report.changed, report.conflicts, report.is_done) == (40, 0, True)
    migration.verify({"order": defaults})
    found = migration.bound().by_status("open").all()
    assert len(found) == 20
    assert {each["currency"] for each in found} == {"EUR"}
    migration.roll_back(applied)
    described = service.describe_table(TableName="Shop")["Table"]
    assert not described.get("GlobalSecondaryIndexes")
    back = Migration(AFTER, BEFORE, quiet(service))
    assert any(each.kind == "destructive" for each in back.plan())


def test_removals_are_made_only_if_asked_for(shop, service):
    smaller = dataclasses.replace(
        AFTER,
        tables=(dataclasses.replace(AFTER.tables[0], indexes=()), AFTER.tables[1]),
        entities=(
            dataclasses.replace(AFTER.entities[0], keys=ORDER.keys),
            AFTER.entities[1],
        ),
        patterns=AFTER.patterns[:1],
    )
    Migration(BEFORE, AFTER, quiet(service)).apply()
    removal = Migration(AFTER, smaller, quiet(service))
    assert removal.apply() == ()
    assert [each.action for each in removal.apply(removals=True)] == ["remove_index"]


def uppercase(item):
    return {**item, "status": item["status"].upper()}


def backfill(client, change=uppercase, **options):
    return Backfill(
        quiet(client),
        "Shop",
        change,
        options=BackfillOptions(page=7, **options),
        sleep=lambda seconds: None,
    )


def statuses(client):
    return {item["status"] for item in TableClient(client, "Shop").scan()}


def test_a_dry_run_counts_and_writes_nothing(shop, service):
    report = backfill(service).run(dry_run=True)
    assert (report.examined, report.changed, report.write_units) == (40, 40, 40)
    assert statuses(service) == {"open", "paid"}


def test_an_estimate_has_units_time_and_money(shop, service):
    estimate = backfill(service, writes_per_second=10).estimate()
    assert estimate.items == 40
    assert estimate.write_units == 40
    assert estimate.seconds == 4.0
    assert 0 < estimate.dollars < 0.01
    assert "40 items" in str(estimate)


def test_an_interrupted_backfill_resumes(shop, service, tmp_path):
    state = tmp_path / "state.json"
    calls = itertools.count()

    def interrupted(item):
        if next(calls) == 20:
            raise KeyboardInterrupt
        return uppercase(item)

    with pytest.raises(KeyboardInterrupt):
        backfill(service, interrupted, state=state).run()
    seen: list[Any] = []
    report = backfill(service, state=state).run(on_progress=seen.append)
    assert report.is_done
    assert report.examined == 40
    assert seen[0].examined == 21
    assert statuses(service) == {"OPEN", "PAID"}
    assert backfill(service, state=state).run() == report


def test_a_state_file_of_another_table_is_refused(service, tmp_path):
    state = tmp_path / "state.json"
    state.write_text('{"table": "Other", "position": null, "report": {}}')
    with pytest.raises(MigrationError, match="belongs to table Other"):
        backfill(service, state=state).run()


def test_the_rate_is_bounded(shop, service):
    now = [0.0]
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        now[0] += seconds

    slow = Backfill(
        service,
        "Shop",
        uppercase,
        options=BackfillOptions(writes_per_second=10),
        sleep=sleep,
        clock=lambda: now[0],
    )
    slow.run()
    assert sum(waits) == pytest.approx(4.0)


def test_a_write_in_between_is_not_lost(shop, service):
    table = TableClient(service, "Shop")
    touched: list[Any] = []

    def meddled(item):
        if not touched:
            touched.append(item["PK"])
            table.update({"PK": item["PK"], "SK": item["SK"]}, set={"status": "lost"})
        return uppercase(item)

    report = backfill(service, meddled).run()
    assert report.conflicts == 1
    assert statuses(service) == {"OPEN", "PAID", "LOST"}


def test_an_item_deleted_in_between_stays_deleted(shop, service):
    table = TableClient(service, "Shop")
    touched: list[Any] = []

    def meddled(item):
        if not touched:
            touched.append(table.delete({"PK": item["PK"], "SK": item["SK"]}))
        return uppercase(item)

    report = backfill(service, meddled).run()
    assert (report.changed, report.conflicts) == (39, 1)
    assert len(table.scan().all()) == 39


def test_a_backfill_is_rolled_back_from_its_journal(shop, service, tmp_path):
    journal = tmp_path / "journal"
    table = TableClient(service, "Shop")

    def change(item):
        renamed = {name: value for name, value in item.items() if name != "status"}
        return {**renamed, "state": item["status"], "raw": b"\x00"} if "status" in item else None

    job = backfill(service, change, journal=journal, state=tmp_path / "state")
    assert job.run().changed == 40
    assert job.verify() == 0
    first = next(iter(table.scan()))
    table.update({"PK": first["PK"], "SK": first["SK"]}, set={"state": "changed since"})
    assert job.roll_back() == 39
    assert job.verify(raises=False) == 39
    with pytest.raises(MigrationError, match="no journal"):
        backfill(service).roll_back()


def test_a_write_that_was_refused_is_not_rolled_back(shop, service, tmp_path):
    table = TableClient(service, "Shop")
    touched: list[Any] = []

    def meddled(item):
        if not touched:
            touched.append({"PK": item["PK"], "SK": item["SK"]})
            table.update(touched[0], set={"status": item["status"].upper()})
        return uppercase(item)

    job = backfill(service, meddled, journal=tmp_path / "journal")
    assert job.run().changed == 39
    assert job.roll_back() == 39
    assert there(table.get(touched[0]))["status"] in ("OPEN", "PAID")


def test_the_primary_key_cannot_be_changed(shop, service):
    with pytest.raises(MigrationError, match="primary key"):
        backfill(service, lambda item: {**item, "PK": "x"}).run()
