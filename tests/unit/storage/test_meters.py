"""Which tables have meters, and how they follow their records."""

from hashrange.clock import VirtualClock
from hashrange.model.records import IndexRecord, TableRecord, Throughput, make_table
from hashrange.storage.meters import Meters


def record(billing_mode="PROVISIONED", **settings):
    read, write = settings.pop("units", (5, 5))
    return TableRecord(
        name="table",
        id="one",
        account="0",
        region="r",
        store="t1",
        shards=1,
        key_schema=[{"AttributeName": "p", "KeyType": "HASH"}],
        attribute_types={"p": "S", "g": "S"},
        created_at=0.0,
        active_at=0.0,
        billing_mode=billing_mode,
        throughput=Throughput(read, write),
        **settings,
    )


def index(**settings):
    return IndexRecord(
        name="g",
        store="t1g",
        shards=1,
        is_global=True,
        key_schema=[{"AttributeName": "g", "KeyType": "HASH"}],
        projection_type="ALL",
        non_key_attributes=[],
        **settings,
    )


def meter_of(meters, given):
    table = make_table(given)
    meters.equip(table, given)
    return table.meter


def test_only_limited_tables_have_meters_unless_all_limits_are_wanted():
    clock = VirtualClock()
    on_demand = record("PAY_PER_REQUEST", units=(0, 0))
    limited_index = record(
        "PAY_PER_REQUEST", units=(0, 0), indexes=[index(on_demand={"MaxReadRequestUnits": 3})]
    )
    unlimited = record("PAY_PER_REQUEST", units=(0, 0), on_demand={"MaxReadRequestUnits": -1})
    assert meter_of(Meters("provisioned", clock), record()) is not None
    assert meter_of(Meters("provisioned", clock), on_demand) is None
    assert meter_of(Meters("provisioned", clock), unlimited) is None
    assert meter_of(Meters("provisioned", clock), limited_index) is not None
    assert meter_of(Meters("off", clock), record()) is None
    assert meter_of(Meters("aws", clock), on_demand) is not None


def test_a_meter_outlives_changes_of_its_table():
    meters = Meters("provisioned", VirtualClock())
    before = meter_of(meters, record())
    before.charge_write(None, None, 1500, 0.0)
    after = meter_of(meters, record(units=(5, 9)))
    assert after.table is before.table
    assert after.refuse_write(None, 0.0) is not None
    assert after.table.provided.write == 9


def test_a_table_with_the_same_name_made_anew_begins_anew():
    meters = Meters("provisioned", VirtualClock())
    meter_of(meters, record()).charge_write(None, None, 1500, 0.0)
    other = record()
    other.id = "two"
    assert meter_of(meters, other).refuse_write(None, 0.0) is None
