"""Items as Parquet: the type of each column, and values that lose nothing."""

import json
from decimal import Decimal

import pytest
from pyarrow import parquet

from hashrange.cli.data.parquet import write_parquet
from hashrange.cli.data.plain_json import PlainJsonError


@pytest.fixture
def written(tmp_path):
    def write(*values):
        items = [
            {"k": {"S": str(number)}, **({"a": value} if value else {})}
            for number, value in enumerate(values)
        ]
        path = str(tmp_path / "items.parquet")
        write_parquet(iter(items), ["k"], path)
        table = parquet.read_table(path)
        assert table.column("k").to_pylist() == [str(number) for number in range(len(values))]
        return str(table.schema.field("a").type), table.column("a").to_pylist()

    return write


@pytest.mark.parametrize(
    ("values", "type", "cells"),
    [
        ([{"S": "x"}, None, {"NULL": True}], "string", ["x", None, None]),
        ([{"N": "1"}, {"N": "-7E+2"}], "int64", [1, -700]),
        ([{"N": "9223372036854775807"}], "int64", [2**63 - 1]),
        ([{"N": "1.25"}, {"N": "3"}], "decimal128(38, 2)", [Decimal("1.25"), Decimal(3)]),
        ([{"N": "9223372036854775808"}], "decimal128(38, 0)", [Decimal(2**63)]),
        ([{"N": "1E-130"}, {"N": "1"}], "string", ["1E-130", "1"]),
        ([{"B": b"\x00\xff"}], "binary", [b"\x00\xff"]),
        ([{"BOOL": True}, {"BOOL": False}], "bool", [True, False]),
        ([{"SS": ["b", "a"]}], "list<element: string>", [["a", "b"]]),
        ([{"BS": [b"b", b"a"]}], "list<element: binary>", [[b"a", b"b"]]),
        ([{"NS": ["1", "2.5"]}], "list<element: decimal128(38, 1)>", [[1, Decimal("2.5")]]),
        ([{"S": "x"}, {"N": "1.50"}], "string", ['"x"', "1.5"]),
        ([{"NULL": True}], "string", [None]),
    ],
)
def test_a_column_has_the_type_of_its_values(written, values, type, cells):
    assert written(*values) == (type, cells)


def test_lists_and_maps_are_json(written):
    value = {"M": {"x": {"L": [{"N": "1"}, {"SS": ["s"]}]}, "b": {"B": b"\x01"}}}
    kind, (text,) = written(value)
    assert kind == "string"
    assert json.loads(text) == {"x": [1, {"$set": ["s"]}], "b": {"$binary": "AQ=="}}


def test_a_file_has_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("hashrange.cli.data.parquet._GROUP_ROWS", 10)
    path = str(tmp_path / "items.parquet")
    write_parquet(({"k": {"N": str(number)}} for number in range(25)), ["k"], path)
    assert parquet.ParquetFile(path).num_row_groups == 3
    assert parquet.read_table(path).column("k").to_pylist() == list(range(25))


def test_pyarrow_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PlainJsonError, match="pip install pyarrow"):
        write_parquet([], ["k"], str(tmp_path / "items.parquet"))
