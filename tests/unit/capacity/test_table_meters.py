"""The meter of a table: reasons, indexes, pressure."""

from hashrange.capacity.stores import CapacityStore, Ceilings, Provided
from hashrange.capacity.table_meters import TableMeter


def meter(index_write=1.0):
    table = CapacityStore(Provided(1, 1), 0.0)
    return TableMeter(table, {"g": CapacityStore(Provided(1, index_write), 0.0)})


def test_reasons_name_resource_direction_and_limit():
    here = meter()
    here.charge_read(None, None, 500, 0.0)
    here.charge_read("g", None, 500, 0.0)
    table, index = here.refuse_read(None, None, 0.0), here.refuse_read("g", None, 0.0)
    assert table is not None
    assert index is not None
    assert (table.index, table.reason) == (None, "TableReadProvisionedThroughputExceeded")
    assert (index.index, index.reason) == ("g", "IndexReadProvisionedThroughputExceeded")


def test_a_local_index_uses_the_capacity_of_its_table():
    here = meter()
    here.charge_write("local", None, 500, 0.0)
    assert here.refuse_write(None, 0.0) is not None
    here.charge_read(None, None, 500, 0.0)
    refused = here.refuse_read("local", None, 0.0)
    assert refused is not None
    assert refused.index is None


def test_pressure_is_there_while_an_index_has_no_capacity():
    here = meter()
    assert here.pressure(0.0) is None
    here.charge_write("g", None, 300, 0.0)
    pressure = here.pressure(0.0)
    assert pressure is not None
    refused = pressure.refusal("g", None)
    assert refused is not None
    assert refused.reason == "IndexWriteProvisionedThroughputExceeded"
    assert pressure.refusal("other", None) is None
    assert here.refuse_write(None, 0.0) is None
    assert here.pressure(1.5) is None


def test_pressure_of_a_key_range_concerns_its_keys_only():
    provided = Provided(is_on_demand=True)
    stores = [CapacityStore(provided, 0.0, Ceilings()) for _ in range(2)]
    here = TableMeter(stores[0], {"g": stores[1]})
    here.charge_write("g", (0.1, b"k"), 1000, 0.0)
    pressure = here.pressure(0.0)
    assert pressure is not None
    refused = pressure.refusal("g", (0.15, b"k"))
    assert refused is not None
    assert refused.reason == "IndexWriteKeyRangeThroughputExceeded"
    assert refused.is_on_demand
    assert pressure.refusal("g", (0.9, b"k")) is None
