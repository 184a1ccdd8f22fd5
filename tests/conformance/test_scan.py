"""Scan: every item once, in parallel segments, through indexes, filters and pages."""

import pytest

from tests.conformance.conftest import wait_for_index


def scan_all(client, **request):
    found, pages = [], 0
    while True:
        page = client.scan(**request)
        found += page["Items"]
        pages += 1
        assert pages < 300, "pages do not end"
        if "LastEvaluatedKey" not in page:
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@pytest.fixture
def table(client, tables):
    name = tables.create("p:S", "r:N", indexes={"by_g": ("g:S",)})
    for p in range(12):
        for r in range(3):
            item = {"p": {"S": f"p{p}"}, "r": {"N": str(r)}, "v": {"N": str(p)}}
            if r == 0:
                item["g"] = {"S": "same"}
            client.put_item(TableName=name, Item=item)
    wait_for_index(client, name, "by_g", 12)
    return name


def keys_of(items):
    return sorted((item["p"]["S"], item["r"]["N"]) for item in items)


ALL_KEYS = sorted((f"p{p}", str(r)) for p in range(12) for r in range(3))


@pytest.mark.parametrize("limit", [None, 1, 5, 36, 37])
def test_pages_of_any_size_give_every_item_once(client, table, limit):
    request = {"Limit": limit} if limit else {}
    assert keys_of(scan_all(client, TableName=table, **request)) == ALL_KEYS


@pytest.mark.parametrize("total", [1, 2, 3, 7, 100, 1000000])
def test_segments_share_the_items(client, table, total):
    found = []
    wanted = range(total) if total <= 100 else (0, 1, total // 2, total - 1)
    for segment in wanted:
        found += scan_all(client, TableName=table, Segment=segment, TotalSegments=total, Limit=4)
    assert len(keys_of(found)) == len(set(keys_of(found)))
    if total <= 100:
        assert keys_of(found) == ALL_KEYS


def test_items_of_one_partition_are_in_order(client, table):
    order = [int(i["r"]["N"]) for i in scan_all(client, TableName=table) if i["p"]["S"] == "p3"]
    assert order == [0, 1, 2]


def test_a_sparse_index_holds_only_items_with_its_key(client, table):
    found = scan_all(client, TableName=table, IndexName="by_g", Limit=5)
    assert keys_of(found) == sorted((f"p{p}", "0") for p in range(12))


def test_filter_and_count(client, table):
    answer = client.scan(
        TableName=table,
        FilterExpression="v >= :v AND r < :r",
        ExpressionAttributeValues={":v": {"N": "10"}, ":r": {"N": "2"}},
        Select="COUNT",
    )
    assert (answer["Count"], answer["ScannedCount"], "Items" in answer) == (4, 36, False)


REFUSED = [
    (
        {"Segment": 1},
        "The TotalSegments parameter is required but was not present in the request when Segment "
        "parameter is present",
    ),
    (
        {"TotalSegments": 2},
        "The Segment parameter is required but was not present in the request when parameter "
        "TotalSegments is present",
    ),
    (
        {"Segment": 2, "TotalSegments": 2},
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
        "Segment: 2 is not less than TotalSegments: 2",
    ),
]


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
@pytest.mark.parametrize(("parameters", "text"), REFUSED)
def test_segments_out_of_range_are_refused(client, table, refused, parameters, text):
    with refused("ValidationException", text):
        client.scan(TableName=table, **parameters)


def test_an_empty_table_has_no_items(client, hash_table):
    answer = client.scan(TableName=hash_table)
    assert (answer["Items"], answer["Count"], answer["ScannedCount"]) == ([], 0, 0)
    assert "LastEvaluatedKey" not in answer
