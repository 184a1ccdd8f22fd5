"""Functions, mappings and positions: names, states and rows."""

import pytest

from hashrange.errors import CorruptionError
from hashrange.model.triggers import (
    FunctionRecord,
    MappingRecord,
    Position,
    function_name,
    unpack,
)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("orders", "orders"),
        ("orders:$LATEST", "orders"),
        ("123456789012:function:orders", "orders"),
        ("arn:aws:lambda:eu-west-1:123456789012:function:orders:prod", "orders"),
        ("arn:aws:s3:::bucket", None),
        ("no spaces", None),
        ("", None),
    ],
)
def test_a_function_is_named_by_its_name_or_its_arn(given, name):
    assert function_name(given) == name


def mapping(**fields):
    return MappingRecord("uuid", "123456789012", "eu-west-1", "arn", "orders", "LATEST", **fields)


def test_a_mapping_is_in_its_passing_state_until_it_is_settled():
    made = mapping(settled_at=10.0, passing_state="Enabling")
    assert [made.state(9.0), made.state(10.0)] == ["Enabling", "Enabled"]
    assert mapping(is_enabled=False).state(0.0) == "Disabled"


def test_arns_name_account_region_and_function():
    assert mapping().arn == "arn:aws:lambda:eu-west-1:123456789012:event-source-mapping:uuid"
    assert mapping().function_arn == "arn:aws:lambda:eu-west-1:123456789012:function:orders"


def test_reading_goes_on_at_the_lane_that_is_furthest_behind():
    assert Position([7, 3, 5]).first == 3


@pytest.mark.parametrize(
    "record",
    [FunctionRecord("f", "http", "http://x"), mapping(filters=["{}"]), Position([1], True)],
)
def test_a_record_comes_back_from_its_row(record):
    assert unpack(type(record), record.pack()) == record


@pytest.mark.parametrize(
    "row", [b"", b"{}", b'{"format": 99}', b'{"format": 1, "record": {"x": 1}}']
)
def test_a_row_that_is_no_record_is_corruption(row):
    with pytest.raises(CorruptionError):
        unpack(Position, row)
