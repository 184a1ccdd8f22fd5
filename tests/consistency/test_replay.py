"""The checkers of stream and index find gaps, repeats, wrong order and what is missing."""

from typing import Any

import pytest

from tests.consistency.replay import check_index, check_stream


def item(name: str, value: int) -> dict[str, Any]:
    return {"pk": {"S": name}, "n": {"N": str(value)}, "group": {"S": "g"}}


class Table:
    """A connection to a table with an index, and to its stream of one shard."""

    def __init__(self) -> None:
        self.items = [item("a", 3), item("b", 1)]
        self.index = [item("b", 1), item("a", 3)]
        images = [("a", None, 1), ("b", None, 1), ("a", 1, 2), ("a", 2, 3)]
        self.records = [change(*image) for image in images]

    def pages(self, operation: str, **request: Any) -> list[dict[str, Any]]:
        return self.index if "IndexName" in request else self.items

    def result(self, operation: str, **request: Any) -> Any:
        return {"Table": {"LatestStreamArn": "arn"}}

    def send(self, operation: str, request: dict[str, Any]) -> Any:
        if operation == "DescribeStream":
            return {"StreamDescription": {"Shards": [{"ShardId": "s"}]}}
        if operation == "GetShardIterator":
            return {"ShardIterator": "i"}
        return {"Records": self.records}


def change(name: str, old: int | None, new: int | None) -> dict[str, Any]:
    images = {"OldImage": old, "NewImage": new}
    found = {key: item(name, value) for key, value in images.items() if value is not None}
    return {"dynamodb": {"Keys": {"pk": {"S": name}}, **found}}


@pytest.fixture
def table() -> Any:
    return Table()


def test_a_stream_that_leads_to_the_table_has_no_problem(table):
    assert check_stream(table, table.send) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda records: records.pop(2),
        lambda records: records.pop(),
        lambda records: records.append(records[-1]),
        lambda records: records.insert(2, records.pop()),
        lambda records: records.append(change("b", 1, None)),
    ],
    ids=["gap", "end missing", "repeat", "order", "deletion of what is there"],
)
def test_what_is_wrong_with_a_stream_is_found(table, spoil):
    spoil(table.records)
    assert check_stream(table, table.send) != []


def test_an_index_equal_to_its_table_has_no_problem(table):
    assert check_index(table) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda index: index.pop(),
        lambda index: index.append(item("c", 1)),
        lambda index: index.__setitem__(0, item("b", 0)),
    ],
    ids=["missing", "too many", "out of date"],
)
def test_what_is_wrong_with_an_index_is_found(table, spoil):
    spoil(table.index)
    assert check_index(table) != []
