"""Consumed capacity, exact to the unit, and item collection metrics."""

import pytest

from tests.conformance.conftest import wait_for_index

KB = 1024


def item_of_size(size, name="k"):
    """Return an item with key p that DynamoDB counts as `size` bytes."""
    overhead = len("p") + len(name) + len("v")
    return {"p": {"S": name}, "v": {"S": "x" * (size - overhead)}}


def units(answer):
    return answer["ConsumedCapacity"]["CapacityUnits"]


WRITES = [(100, 1), (KB, 1), (KB + 1, 2), (10 * KB, 10), (10 * KB + 1, 11)]
READS = [(100, 0.5), (4 * KB, 0.5), (4 * KB + 1, 1.0), (40 * KB, 5.0), (40 * KB + 1, 5.5)]


@pytest.mark.parametrize(("size", "expected"), WRITES)
def test_writes_count_kilobytes(client, hash_table, size, expected):
    request = {"TableName": hash_table, "ReturnConsumedCapacity": "TOTAL"}
    assert units(client.put_item(Item=item_of_size(size), **request)) == expected
    smaller = client.put_item(Item=item_of_size(50), **request)
    assert units(smaller) == expected
    client.put_item(Item=item_of_size(size), **request)
    update = client.update_item(
        Key={"p": {"S": "k"}},
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": {"N": "1"}},
        **request,
    )
    assert units(update) == (size + 3 + KB - 1) // KB
    assert units(client.delete_item(Key={"p": {"S": "k"}}, **request)) == (size + 3 + KB - 1) // KB
    assert units(client.delete_item(Key={"p": {"S": "k"}}, **request)) == 1


@pytest.mark.parametrize(("size", "expected"), READS)
def test_reads_count_four_kilobytes_and_strong_ones_double(client, hash_table, size, expected):
    client.put_item(TableName=hash_table, Item=item_of_size(size))
    request = {"TableName": hash_table, "ReturnConsumedCapacity": "TOTAL"}
    key = {"p": {"S": "k"}}
    assert units(client.get_item(Key=key, **request)) == expected
    assert units(client.get_item(Key=key, ConsistentRead=True, **request)) == expected * 2
    assert units(client.scan(**request)) == expected
    assert units(client.scan(ConsistentRead=True, **request)) == expected * 2


@pytest.mark.beyond_dynamodb_local("its empty reads are free")
def test_reading_nothing_costs_the_least(client, composite_table):
    request = {"TableName": composite_table, "ReturnConsumedCapacity": "TOTAL"}
    key = {"p": {"S": "absent"}, "r": {"S": "absent"}}
    assert units(client.get_item(Key=key, **request)) == 0.5
    assert units(client.get_item(Key=key, ConsistentRead=True, **request)) == 1
    assert units(client.scan(**request)) == 0.5
    query = client.query(
        KeyConditionExpression="p = :p", ExpressionAttributeValues={":p": {"S": "x"}}, **request
    )
    assert units(query) == 0.5


def test_a_query_adds_up_sizes_before_rounding_and_a_batch_after(client, composite_table):
    keys = [{"p": {"S": "k"}, "r": {"S": f"{n}"}} for n in range(10)]
    for key in keys:
        client.put_item(TableName=composite_table, Item={**key, "v": {"S": "x" * 895}})
    query = client.query(
        TableName=composite_table,
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "k"}},
        ReturnConsumedCapacity="TOTAL",
    )
    assert units(query) == 1.5
    batch = client.batch_get_item(
        RequestItems={composite_table: {"Keys": keys}}, ReturnConsumedCapacity="TOTAL"
    )
    assert batch["ConsumedCapacity"] == [{"TableName": composite_table, "CapacityUnits": 5.0}]


def test_filters_and_projections_save_nothing(client, hash_table):
    client.put_item(TableName=hash_table, Item=item_of_size(20 * KB))
    answer = client.scan(
        TableName=hash_table,
        FilterExpression="attribute_not_exists(p)",
        ProjectionExpression="p",
        ReturnConsumedCapacity="TOTAL",
    )
    assert (answer["Count"], units(answer)) == (0, 2.5)


@pytest.fixture
def indexed(tables):
    return tables.create(
        "p:S",
        "r:S",
        local={"lsi": ("p:S", "a:S")},
        indexes={"gsi": ("b:S",), "gsi_keys": ("b:S",)},
        projections={"gsi_keys": {"ProjectionType": "KEYS_ONLY"}},
    )


def shares(answer):
    capacity = answer["ConsumedCapacity"]
    parts = {"total": capacity["CapacityUnits"], "table": capacity["Table"]["CapacityUnits"]}
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for name, share in capacity.get(kind, {}).items():
            parts[name] = share["CapacityUnits"]
    return parts


def test_indexes_are_charged_for_entries_that_change(client, indexed):
    request = {"TableName": indexed, "ReturnConsumedCapacity": "INDEXES"}
    key = {"p": {"S": "p"}, "r": {"S": "r"}}

    def put(**attributes):
        item = {**key, **{name: {"S": value} for name, value in attributes.items()}}
        return shares(client.put_item(Item=item, **request))

    def charged(**parts):
        return {"total": 1 + sum(parts.values()), "table": 1, **parts}

    assert put(x="1") == charged()
    assert put(x="1", a="1", b="1") == charged(lsi=1, gsi=1, gsi_keys=1)
    assert put(x="2", a="1", b="1") == charged(lsi=1, gsi=1)
    assert put(x="2", a="1", b="1") == charged()
    assert put(x="2", a="2", b="1") == charged(lsi=2, gsi=1)
    assert put(x="2", a="2", b="2") == charged(lsi=1, gsi=2, gsi_keys=2)
    assert put(x="2", a="2") == charged(lsi=1, gsi=1, gsi_keys=1)
    assert shares(client.delete_item(Key=key, **request)) == charged(lsi=1)


def test_reading_an_index_is_charged_to_it(client, indexed):
    item = {name: {"S": name} for name in ("p", "r", "a", "b")}
    item["v"] = {"S": "x" * 5000}
    client.put_item(TableName=indexed, Item=item)
    wait_for_index(client, indexed, "gsi", 1)
    wait_for_index(client, indexed, "gsi_keys", 1)

    def query(index, name, **more):
        return shares(
            client.query(
                TableName=indexed,
                IndexName=index,
                KeyConditionExpression=f"{name} = :v",
                ExpressionAttributeValues={":v": {"S": name}},
                ReturnConsumedCapacity="INDEXES",
                **more,
            )
        )

    assert query("gsi", "b") == {"total": 1.0, "table": 0, "gsi": 1.0}
    assert query("gsi_keys", "b") == {"total": 0.5, "table": 0, "gsi_keys": 0.5}
    assert query("lsi", "p", ConsistentRead=True) == {"total": 2.0, "table": 0, "lsi": 2.0}


def test_transactions_cost_twice(client, hash_table):
    written = client.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": hash_table, "Item": item_of_size(KB + 1, "a")}},
            {"Put": {"TableName": hash_table, "Item": item_of_size(100, "b")}},
        ],
        ReturnConsumedCapacity="TOTAL",
    )
    assert written["ConsumedCapacity"][0]["CapacityUnits"] == 6
    read = client.transact_get_items(
        TransactItems=[
            {"Get": {"TableName": hash_table, "Key": {"p": {"S": "a"}}}},
            {"Get": {"TableName": hash_table, "Key": {"p": {"S": "b"}}}},
        ],
        ReturnConsumedCapacity="TOTAL",
    )
    assert read["ConsumedCapacity"][0]["CapacityUnits"] == 4


def test_capacity_is_reported_on_request_only(client, hash_table):
    item = item_of_size(100)
    assert "ConsumedCapacity" not in client.put_item(TableName=hash_table, Item=item)
    none = client.put_item(TableName=hash_table, Item=item, ReturnConsumedCapacity="NONE")
    assert "ConsumedCapacity" not in none
    total = client.put_item(TableName=hash_table, Item=item, ReturnConsumedCapacity="TOTAL")
    assert total["ConsumedCapacity"] == {"TableName": hash_table, "CapacityUnits": 1.0}


@pytest.mark.beyond_dynamodb_local("it reports no collection metrics")
def test_item_collections_are_measured_where_local_indexes_are(client, tables, hash_table):
    table = tables.create("p:S", "r:S", local={"lsi": ("p:S", "a:S")})
    item = {"p": {"S": "k"}, "r": {"S": "r"}}
    answer = client.put_item(TableName=table, Item=item, ReturnItemCollectionMetrics="SIZE")
    metrics = answer["ItemCollectionMetrics"]
    assert metrics["ItemCollectionKey"] == {"p": {"S": "k"}}
    low, high = metrics["SizeEstimateRangeGB"]
    assert 0 <= low <= high <= 1
    plain = client.put_item(
        TableName=hash_table, Item={"p": {"S": "k"}}, ReturnItemCollectionMetrics="SIZE"
    )
    assert "ItemCollectionMetrics" not in plain
