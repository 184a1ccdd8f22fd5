"""Query: key conditions, order, filters, indexes and pages that lose and repeat nothing."""

import itertools
import random
import re

import pytest

from tests.conformance.conftest import eventually, wait_for_index


def pages(client, **request):
    """Yield every page of a query or scan."""
    operation = client.query if "KeyConditionExpression" in request else client.scan
    for _ in range(500):
        page = operation(**request)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    raise AssertionError("pages do not end")


def every_item(client, **request):
    return list(itertools.chain.from_iterable(p["Items"] for p in pages(client, **request)))


@pytest.fixture
def numbered(client, tables):
    """A table with 20 items numbered in one partition and one item in another."""
    table = tables.create("p:S", "r:N", local={"by_s": ("p:S", "s:S")})
    for n in range(20):
        item = {
            "p": {"S": "k"},
            "r": {"N": str(n)},
            "s": {"S": f"s{n % 3}"},
            "v": {"N": str(n % 5)},
        }
        client.put_item(TableName=table, Item=item)
    client.put_item(TableName=table, Item={"p": {"S": "other"}, "r": {"N": "5"}, "s": {"S": "s0"}})
    return table


KEY_CONDITIONS = [
    ("p = :p", {}, range(20)),
    ("p = :p AND r = :a", {":a": 7}, [7]),
    ("p = :p AND r < :a", {":a": 3}, [0, 1, 2]),
    ("p = :p AND r <= :a", {":a": 3}, [0, 1, 2, 3]),
    ("p = :p AND r > :a", {":a": 17}, [18, 19]),
    ("p = :p AND r >= :a", {":a": 17}, [17, 18, 19]),
    ("p = :p AND r BETWEEN :a AND :b", {":a": 4, ":b": 6}, [4, 5, 6]),
    ("r > :a AND p = :p", {":a": 18}, [19]),
    ("(p = :p) AND (r > :a)", {":a": 18}, [19]),
    ("p = :p AND r > :a", {":a": 100}, []),
    (":p = p AND :a < r", {":a": 18}, [19]),
]


@pytest.mark.parametrize("is_forward", [True, False])
@pytest.mark.parametrize(("condition", "bounds", "expected"), KEY_CONDITIONS)
def test_key_conditions(client, numbered, condition, bounds, expected, is_forward):
    values = {":p": {"S": "k"}, **{k: {"N": str(v)} for k, v in bounds.items()}}
    found = client.query(
        TableName=numbered,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        ScanIndexForward=is_forward,
    )
    numbers = [int(item["r"]["N"]) for item in found["Items"]]
    assert numbers == (list(expected) if is_forward else list(reversed(expected)))
    assert found["Count"] == found["ScannedCount"] == len(numbers)


def test_begins_with_on_strings_and_binaries(client, tables):
    for kind, encode in (("S", str), ("B", lambda text: text.encode())):
        table = tables.create("p:S", f"r:{kind}")
        for text in ("a", "ab", "abc", "abd", "b"):
            item = {"p": {"S": "k"}, "r": {kind: encode(text)}}
            client.put_item(TableName=table, Item=item)
        found = client.query(
            TableName=table,
            KeyConditionExpression="p = :p AND begins_with(r, :r)",
            ExpressionAttributeValues={":p": {"S": "k"}, ":r": {kind: encode("ab")}},
        )["Items"]
        assert [item["r"][kind] for item in found] == [encode(t) for t in ("ab", "abc", "abd")]


def test_begins_with_covers_prefixes_ending_in_the_highest_byte(client, tables):
    table = tables.create("p:S", "r:B")
    for raw in (b"\xfe", b"\xff", b"\xff\xff", b"\xff\xff\xff"):
        client.put_item(TableName=table, Item={"p": {"S": "k"}, "r": {"B": raw}})
    found = client.query(
        TableName=table,
        KeyConditionExpression="p = :p AND begins_with(r, :r)",
        ExpressionAttributeValues={":p": {"S": "k"}, ":r": {"B": b"\xff\xff"}},
    )["Items"]
    assert [item["r"]["B"] for item in found] == [b"\xff\xff", b"\xff\xff\xff"]


ONE_CONDITION = re.compile("KeyConditionExpressions must only contain one condition per key$")
REFUSED = [
    ("p > :p", "Query key condition not supported"),
    ("p = :p OR r = :a", "Invalid operator used in KeyConditionExpression: OR"),
    ("NOT p = :p", "Invalid operator used in KeyConditionExpression: NOT"),
    ("p = :p AND r <> :a", "Invalid operator used in KeyConditionExpression: <>"),
    ("p = :p AND r IN (:a)", "Invalid operator used in KeyConditionExpression: IN"),
    ("p = :p AND contains(r, :a)", "Invalid operator used in KeyConditionExpression: contains"),
    ("p = :p AND r = :a AND r = :b", ONE_CONDITION),
    ("p = :p AND p = :p", ONE_CONDITION),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "text"), REFUSED)
def test_key_condition_is_refused(client, numbered, refused, condition, text):
    values = {":p": {"S": "k"}, ":a": {"N": "1"}, ":b": {"N": "2"}}
    used = {k: v for k, v in values.items() if k in condition}
    with refused("ValidationException", text):
        client.query(
            TableName=numbered, KeyConditionExpression=condition, ExpressionAttributeValues=used
        )


@pytest.mark.beyond_dynamodb_local("it does not name the missed element")
@pytest.mark.parametrize(("condition", "missed"), [("r = :a", "p"), ("p = :p AND v = :a", "r")])
def test_a_key_condition_names_the_keys_of_the_schema(client, numbered, refused, condition, missed):
    values = {":p": {"S": "k"}, ":a": {"N": "1"}}
    used = {k: v for k, v in values.items() if k in condition}
    with refused("ValidationException", f"Query condition missed key schema element: {missed}"):
        client.query(
            TableName=numbered, KeyConditionExpression=condition, ExpressionAttributeValues=used
        )


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_a_key_condition_is_on_whole_attributes(client, numbered, refused):
    text = "KeyConditionExpressions cannot have conditions on nested attributes"
    with refused("ValidationException", text):
        client.query(
            TableName=numbered,
            KeyConditionExpression="p = :p AND r.x = :a",
            ExpressionAttributeValues={":p": {"S": "k"}, ":a": {"N": "1"}},
        )


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_a_start_key_is_whole(client, numbered, refused):
    with refused("ValidationException", "The provided starting key is invalid"):
        client.query(
            TableName=numbered,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "k"}},
            ExclusiveStartKey={"p": {"S": "k"}},
        )


def test_a_key_of_the_wrong_type_is_refused(client, numbered, refused):
    text = (
        "One or more parameter values were invalid: Condition parameter type does not match "
        "schema type"
    )
    with refused("ValidationException", text):
        client.query(
            TableName=numbered,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"N": "1"}},
        )


def test_a_filter_may_not_name_the_primary_key(client, numbered, refused):
    text = "Filter Expression can only contain non-primary key attributes: Primary key attribute: r"
    with refused("ValidationException", text):
        client.query(
            TableName=numbered,
            KeyConditionExpression="p = :p",
            FilterExpression="r = :r",
            ExpressionAttributeValues={":p": {"S": "k"}, ":r": {"N": "1"}},
        )


@pytest.mark.parametrize("is_forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 19, 20, 21])
def test_pages_of_any_size_give_every_item_once_and_in_order(client, numbered, limit, is_forward):
    found = every_item(
        client,
        TableName=numbered,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "k"}},
        Limit=limit,
        ScanIndexForward=is_forward,
    )
    expected = range(20) if is_forward else range(19, -1, -1)
    assert [int(item["r"]["N"]) for item in found] == list(expected)


def test_limit_counts_items_before_the_filter(client, numbered):
    found = list(
        pages(
            client,
            TableName=numbered,
            KeyConditionExpression="p = :p",
            FilterExpression="v = :v",
            ExpressionAttributeValues={":p": {"S": "k"}, ":v": {"N": "4"}},
            Limit=3,
        )
    )
    assert [page["ScannedCount"] for page in found] == [3, 3, 3, 3, 3, 3, 2]
    assert [page["Count"] for page in found] == [0, 1, 0, 1, 1, 0, 1]


def test_a_full_last_page_still_points_on(client, numbered):
    request = {
        "TableName": numbered,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "k"}},
    }
    page = client.query(**request, Limit=20)
    assert page["LastEvaluatedKey"] == {"p": {"S": "k"}, "r": {"N": "19"}}
    rest = client.query(**request, ExclusiveStartKey=page["LastEvaluatedKey"])
    assert (rest["Count"], "LastEvaluatedKey" in rest) == (0, False)
    assert "LastEvaluatedKey" not in client.query(**request, Limit=21)


def test_a_page_may_start_from_a_key_that_is_gone(client, numbered):
    request = {
        "TableName": numbered,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "k"}},
    }
    page = client.query(**request, Limit=5)
    for n in (4, 5, 6):
        client.delete_item(TableName=numbered, Key={"p": {"S": "k"}, "r": {"N": str(n)}})
    rest = client.query(**request, ExclusiveStartKey=page["LastEvaluatedKey"])
    assert [int(item["r"]["N"]) for item in rest["Items"]] == list(range(7, 20))


def test_select_count_returns_no_items(client, numbered):
    found = client.query(
        TableName=numbered,
        KeyConditionExpression="p = :p",
        FilterExpression="v = :v",
        ExpressionAttributeValues={":p": {"S": "k"}, ":v": {"N": "4"}},
        Select="COUNT",
    )
    assert ("Items" in found, found["Count"], found["ScannedCount"]) == (False, 4, 20)


@pytest.mark.parametrize("is_forward", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("index", ["by_s", "equal"])
def test_pages_over_indexes_with_equal_keys_are_complete(client, tables, index, limit, is_forward):
    table = tables.create(
        "p:S", "r:N", local={"by_s": ("p:S", "s:S")}, indexes={"equal": ("g:S", "s:S")}
    )
    for n in range(15):
        item = {"p": {"S": "k"}, "r": {"N": str(n)}, "g": {"S": "g"}, "s": {"S": "same"}}
        client.put_item(TableName=table, Item=item)
    wait_for_index(client, table, "equal", 15)
    partition = ("p", "k") if index == "by_s" else ("g", "g")
    found = every_item(
        client,
        TableName=table,
        IndexName=index,
        KeyConditionExpression=f"{partition[0]} = :p",
        ExpressionAttributeValues={":p": {"S": partition[1]}},
        Limit=limit,
        ScanIndexForward=is_forward,
    )
    assert sorted(int(item["r"]["N"]) for item in found) == list(range(15))


@pytest.mark.parametrize("is_forward", [True, False])
def test_items_deleted_between_pages_of_an_index_disturb_nobody_else(client, tables, is_forward):
    table = tables.create("p:S", indexes={"equal": ("g:S",)})
    for n in range(30):
        item = {"p": {"S": f"k{n:02}"}, "g": {"S": "g"}}
        client.put_item(TableName=table, Item=item)
    wait_for_index(client, table, "equal", 30)
    chance = random.Random(7)
    found, alive = [], {f"k{n:02}" for n in range(30)}
    request = {
        "TableName": table,
        "IndexName": "equal",
        "KeyConditionExpression": "g = :g",
        "ExpressionAttributeValues": {":g": {"S": "g"}},
        "Limit": 4,
        "ScanIndexForward": is_forward,
    }
    for page in pages(client, **request):
        found += [item["p"]["S"] for item in page["Items"]]
        last = page.get("LastEvaluatedKey", {}).get("p", {}).get("S")
        doomed = {key for key in (last, chance.choice(sorted(alive))) if key}
        for key in doomed:
            client.delete_item(TableName=table, Key={"p": {"S": key}})
        alive -= doomed
    assert len(found) == len(set(found))
    assert alive <= set(found)


def test_last_evaluated_key_of_an_index_holds_both_keys(client, tables):
    table = tables.create("p:S", "r:N", indexes={"by_g": ("g:S", "s:S")})
    for n in range(2):
        item = {"p": {"S": "k"}, "r": {"N": str(n)}, "g": {"S": "g"}, "s": {"S": f"s{n}"}}
        client.put_item(TableName=table, Item=item)
    wait_for_index(client, table, "by_g", 2)
    page = client.query(
        TableName=table,
        IndexName="by_g",
        KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": "g"}},
        Limit=1,
    )
    assert page["LastEvaluatedKey"] == {
        "p": {"S": "k"},
        "r": {"N": "0"},
        "g": {"S": "g"},
        "s": {"S": "s0"},
    }


@pytest.fixture
def indexed(client, tables):
    table = tables.create(
        "p:S",
        "r:S",
        local={"keys": ("p:S", "a:S"), "some": ("p:S", "a:S")},
        indexes={"g_keys": ("a:S",), "g_some": ("a:S", "b:S"), "g_all": ("b:S",)},
        projections={
            "keys": {"ProjectionType": "KEYS_ONLY"},
            "g_keys": {"ProjectionType": "KEYS_ONLY"},
            "some": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["c"]},
            "g_some": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["c"]},
        },
    )
    item = {name: {"S": name} for name in ("p", "r", "a", "b", "c", "d")}
    client.put_item(TableName=table, Item=item)
    client.put_item(TableName=table, Item={"p": {"S": "p"}, "r": {"S": "sparse"}})
    for index in ("g_keys", "g_some", "g_all"):
        wait_for_index(client, table, index, 1)
    return table


@pytest.mark.parametrize(
    ("index", "key", "expected"),
    [
        ("keys", "p", "pra"),
        ("some", "p", "prac"),
        ("g_keys", "a", "pra"),
        ("g_some", "a", "prabc"),
        ("g_all", "b", "prabcd"),
    ],
)
def test_an_index_gives_its_projection_and_only_items_having_its_keys(
    client, indexed, index, key, expected
):
    request = {
        "TableName": indexed,
        "IndexName": index,
        "KeyConditionExpression": f"{key} = :v",
        "ExpressionAttributeValues": {":v": {"S": key}},
    }
    (item,) = client.query(**request)["Items"]
    assert set(item) == set(expected)
    assert client.scan(TableName=indexed, IndexName=index)["Count"] == 1


def test_a_local_index_fetches_what_it_does_not_project(client, indexed):
    request = {
        "TableName": indexed,
        "IndexName": "keys",
        "KeyConditionExpression": "p = :v",
        "ExpressionAttributeValues": {":v": {"S": "p"}},
    }
    (item,) = client.query(**request, Select="ALL_ATTRIBUTES")["Items"]
    assert set(item) == set("prabcd")
    (item,) = client.query(**request, ProjectionExpression="d, a")["Items"]
    assert set(item) == set("da")


def test_a_global_index_does_not_fetch(client, indexed, refused):
    request = {
        "TableName": indexed,
        "IndexName": "g_keys",
        "KeyConditionExpression": "a = :v",
        "ExpressionAttributeValues": {":v": {"S": "a"}},
    }
    text = (
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported "
        "for global secondary index g_keys because its projection type is not ALL"
    )
    with refused("ValidationException", text):
        client.query(**request, Select="ALL_ATTRIBUTES")
    text = (
        "One or more parameter values were invalid: Global secondary index g_keys does not project "
        "[d]"
    )
    with refused("ValidationException", text):
        client.query(**request, ProjectionExpression="d")
    text = "Consistent reads are not supported on global secondary indexes"
    with refused("ValidationException", text):
        client.query(**request, ConsistentRead=True)


@pytest.mark.parametrize(("index", "key"), [("keys", "p"), ("g_keys", "a")])
def test_a_query_filters_by_projected_attributes_only(client, indexed, refused, index, key):
    text = (
        f"One or more parameter values were invalid: Secondary index {index} does not project one "
        "or more filter attributes: [d]"
    )
    with refused("ValidationException", text):
        client.query(
            TableName=indexed,
            IndexName=index,
            KeyConditionExpression=f"{key} = :v",
            FilterExpression="d = :d",
            ExpressionAttributeValues={":v": {"S": key}, ":d": {"S": "d"}},
        )


@pytest.mark.beyond_dynamodb_local("its scans of indexes filter whole items")
@pytest.mark.parametrize("index", ["keys", "g_keys"])
def test_a_scan_of_an_index_finds_other_attributes_absent(client, indexed, index):
    found = client.scan(
        TableName=indexed,
        IndexName=index,
        FilterExpression="d = :d",
        ExpressionAttributeValues={":d": {"S": "d"}},
    )
    assert (found["Count"], found["ScannedCount"]) == (0, 1)


def test_index_entries_follow_updates_and_deletes(client, tables):
    table = tables.create("p:S", indexes={"by_g": ("g:S",)})

    def entries():
        return client.scan(TableName=table, IndexName="by_g")["Items"]

    client.put_item(TableName=table, Item={"p": {"S": "k"}, "g": {"S": "1"}, "x": {"S": "x"}})
    request = {"TableName": table, "Key": {"p": {"S": "k"}}}
    client.update_item(
        **request,
        UpdateExpression="SET g = :g",
        ExpressionAttributeValues={":g": {"S": "2"}},
    )
    eventually(lambda: [item["g"] for item in entries()] == [{"S": "2"}])
    client.update_item(**request, UpdateExpression="REMOVE x")
    eventually(lambda: entries() == [{"p": {"S": "k"}, "g": {"S": "2"}}])
    client.update_item(**request, UpdateExpression="REMOVE g")
    eventually(lambda: entries() == [])
    client.put_item(TableName=table, Item={"p": {"S": "k"}, "g": {"S": "3"}})
    client.delete_item(**request)
    eventually(lambda: entries() == [])


def test_a_start_key_has_to_match_keys_and_conditions(client, numbered, refused):
    request = {
        "TableName": numbered,
        "KeyConditionExpression": "p = :p AND r > :r",
        "ExpressionAttributeValues": {":p": {"S": "k"}, ":r": {"N": "5"}},
    }
    with refused(
        "ValidationException", "The provided starting key does not match the range key predicate"
    ):
        client.query(**request, ExclusiveStartKey={"p": {"S": "k"}, "r": {"N": "2"}})


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_a_start_key_lies_in_the_partition(client, numbered, refused):
    text = "The provided starting key is outside query boundaries based on provided conditions"
    with refused("ValidationException", text):
        client.query(
            TableName=numbered,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "k"}},
            ExclusiveStartKey={"p": {"S": "other"}, "r": {"N": "6"}},
        )


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_a_start_key_lies_in_the_partition_where_there_is_no_sort_key(client, tables, refused):
    table = tables.create("p:S", indexes={"by-g": ("g:S",)})
    client.put_item(TableName=table, Item={"p": {"S": "k"}, "g": {"S": "k"}})
    values = {":k": {"S": "k"}}
    text = "The provided starting key is outside query boundaries based on provided conditions"
    alone = {"KeyConditionExpression": "p = :k", "ExpressionAttributeValues": values}
    index = {**alone, "KeyConditionExpression": "g = :k", "IndexName": "by-g"}
    for request, start in (
        (alone, {"p": {"S": "other"}}),
        (index, {"p": {"S": "k"}, "g": {"S": "other"}}),
    ):
        with refused("ValidationException", text):
            client.query(TableName=table, **request, ExclusiveStartKey=start)
    page = client.query(TableName=table, **alone, ExclusiveStartKey={"p": {"S": "k"}})
    assert page["Items"] == []


def test_an_index_has_to_exist(client, numbered, refused):
    text = "The table does not have the specified index: absent"
    with refused("ValidationException", text):
        client.query(
            TableName=numbered,
            IndexName="absent",
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "k"}},
        )


def test_a_page_ends_after_a_megabyte(client, composite_table):
    for n in range(12):
        item = {"p": {"S": "k"}, "r": {"S": f"{n:02}"}, "v": {"S": "x" * 100_000}}
        client.put_item(TableName=composite_table, Item=item)
    request = {
        "TableName": composite_table,
        "KeyConditionExpression": "p = :p",
        "ExpressionAttributeValues": {":p": {"S": "k"}},
    }
    page = client.query(**request)
    assert page["Count"] == 11
    assert page["LastEvaluatedKey"]["r"] == {"S": "10"}
    assert sum(page["Count"] for page in pages(client, **request, Select="COUNT")) == 12
