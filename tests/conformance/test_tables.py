"""Tables: making, describing, listing, updating, deleting; indexes, tags, time to live."""

import re
import time

import pytest

from tests.conformance.conftest import wait_for_index


def wait_active(client, name):
    """Return the description once the table and its indexes are active."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        table = client.describe_table(TableName=name)["Table"]
        parts = [table["TableStatus"]]
        parts += [index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", [])]
        if set(parts) == {"ACTIVE"}:
            return table
        time.sleep(0.02)
    raise AssertionError(f"{name} stays {parts}")


def test_a_description_tells_what_was_asked_for(client, tables):
    request = tables.request(
        "p:S",
        "r:N",
        local={"lsi": ("p:S", "a:B")},
        indexes={"gsi": ("g:S", "r:N")},
        projections={"gsi": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y"]}},
    )
    name = request["TableName"]
    client.create_table(**request)
    table = wait_active(client, name)
    assert table["KeySchema"] == request["KeySchema"]
    by_name = {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]}
    assert by_name == {"p": "S", "r": "N", "a": "B", "g": "S"}
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["ItemCount"] == 0
    assert table["TableArn"].endswith(f":table/{name}")
    (gsi,) = table["GlobalSecondaryIndexes"]
    assert gsi["KeySchema"] == request["GlobalSecondaryIndexes"][0]["KeySchema"]
    assert sorted(gsi["Projection"]["NonKeyAttributes"]) == ["x", "y"]
    assert gsi["IndexArn"] == f"{table['TableArn']}/index/gsi"
    (lsi,) = table["LocalSecondaryIndexes"]
    assert lsi["Projection"] == {"ProjectionType": "ALL"}


def test_provisioned_throughput_is_kept(client, tables):
    name = tables.create(
        "p:S",
        BillingMode="PROVISIONED",
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
    )
    throughput = wait_active(client, name)["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (5, 6)
    client.update_table(
        TableName=name,
        ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 8},
    )
    throughput = wait_active(client, name)["ProvisionedThroughput"]
    assert (throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"]) == (7, 8)


def test_a_name_is_used_once(client, hash_table, tables, refused):
    request = {**tables.request("p:S"), "TableName": hash_table}
    with refused("ResourceInUseException", re.compile("")):
        client.create_table(**request)


def test_a_deleted_table_is_gone_with_its_items(client, tables, refused):
    request = tables.request("p:S")
    name = request["TableName"]
    client.create_table(**request)
    client.put_item(TableName=name, Item={"p": {"S": "k"}})
    assert client.delete_table(TableName=name)["TableDescription"]["TableName"] == name
    client.get_waiter("table_not_exists").wait(
        TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30}
    )
    with refused("ResourceNotFoundException", re.compile("")):
        client.describe_table(TableName=name)
    client.create_table(**request)
    wait_active(client, name)
    assert client.scan(TableName=name)["Count"] == 0


def test_tables_are_listed_in_order_and_pages(client, tables):
    prefix = tables.unique_name()
    names = []
    for letter in "cab":
        request = {**tables.request("p:S"), "TableName": f"{prefix}-{letter}"}
        tables.names.append(request["TableName"])
        names.append(request["TableName"])
        client.create_table(**request)
    page = client.list_tables(ExclusiveStartTableName=prefix, Limit=2)
    assert page["TableNames"] == sorted(names)[:2]
    assert page["LastEvaluatedTableName"] == sorted(names)[1]
    page = client.list_tables(ExclusiveStartTableName=page["LastEvaluatedTableName"], Limit=1)
    assert page["TableNames"] == sorted(names)[2:]


def create_index(client, table, name, *key):
    types = [part.split(":") for part in key]
    schema = [
        {"AttributeName": one, "KeyType": kind}
        for (one, _), kind in zip(types, ("HASH", "RANGE"), strict=False)
    ]
    client.update_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": a, "AttributeType": t} for a, t in types],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": name,
                    "KeySchema": schema,
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )


def test_a_new_index_is_filled_with_what_is_there_and_can_be_deleted(client, hash_table, refused):
    for n in range(30):
        item = {"p": {"S": f"k{n}"}, "n": {"N": str(n)}}
        if n % 3 == 0:
            item["g"] = {"S": "g"}
        if n == 9:
            item["g"] = {"N": "9"}
        client.put_item(TableName=hash_table, Item=item)
    create_index(client, hash_table, "late", "g:S", "n:N")
    wait_active(client, hash_table)
    found = client.query(
        TableName=hash_table,
        IndexName="late",
        KeyConditionExpression="g = :g",
        ExpressionAttributeValues={":g": {"S": "g"}},
    )["Items"]
    assert [int(item["n"]["N"]) for item in found] == [0, 3, 6, 12, 15, 18, 21, 24, 27]
    client.update_table(
        TableName=hash_table,
        GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "late"}}],
    )
    deadline = time.monotonic() + 30
    while client.describe_table(TableName=hash_table)["Table"].get("GlobalSecondaryIndexes"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with refused("ValidationException", re.compile("does not have the specified index")):
        client.scan(TableName=hash_table, IndexName="late")


MULTI = "multi-attribute keys came after it"


@pytest.fixture
def multi(client, tables):
    """A table whose index has two partition and two sort attributes."""
    table = tables.create("p:S", indexes={"multi": ("a:S", "+b:N", "c:S", "+d:N")})
    for n in range(24):
        item = {
            "p": {"S": f"k{n:02}"},
            "a": {"S": f"a{n % 2}"},
            "b": {"N": str(n % 3)},
            "c": {"S": f"c{n % 4}"},
            "d": {"N": str(n)},
        }
        client.put_item(TableName=table, Item=item)
    client.put_item(TableName=table, Item={"p": {"S": "sparse"}, "a": {"S": "a0"}})
    wait_for_index(client, table, "multi", 24)
    return table


@pytest.mark.beyond_dynamodb_local(MULTI)
def test_an_index_over_several_attributes_orders_by_all_of_them(client, multi):
    found = client.query(
        TableName=multi,
        IndexName="multi",
        KeyConditionExpression="a = :a AND b = :b",
        ExpressionAttributeValues={":a": {"S": "a0"}, ":b": {"N": "0"}},
    )["Items"]
    assert [(i["c"]["S"], int(i["d"]["N"])) for i in found] == [
        ("c0", 0),
        ("c0", 12),
        ("c2", 6),
        ("c2", 18),
    ]
    found = client.query(
        TableName=multi,
        IndexName="multi",
        KeyConditionExpression="a = :a AND b = :b AND c = :c AND d > :d",
        ExpressionAttributeValues={
            ":a": {"S": "a0"},
            ":b": {"N": "0"},
            ":c": {"S": "c2"},
            ":d": {"N": "6"},
        },
    )["Items"]
    assert [item["p"]["S"] for item in found] == ["k18"]
    assert client.scan(TableName=multi, IndexName="multi")["Count"] == 24


@pytest.mark.beyond_dynamodb_local(MULTI)
def test_pages_over_an_index_with_several_attributes(client, multi):
    request = {
        "TableName": multi,
        "IndexName": "multi",
        "KeyConditionExpression": "a = :a AND b = :b",
        "ExpressionAttributeValues": {":a": {"S": "a1"}, ":b": {"N": "1"}},
        "Limit": 1,
    }
    found = []
    for _ in range(10):
        page = client.query(**request)
        found += [item["p"]["S"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        assert set(page["LastEvaluatedKey"]) == set("pabcd")
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
    assert sorted(found) == ["k01", "k07", "k13", "k19"]


@pytest.mark.beyond_dynamodb_local("it has no tags")
def test_tags_are_added_listed_and_removed(client, hash_table):
    arn = client.describe_table(TableName=hash_table)["Table"]["TableArn"]
    client.tag_resource(
        ResourceArn=arn, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]
    )
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "a", "Value": "2"}])
    client.untag_resource(ResourceArn=arn, TagKeys=["b", "absent"])
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [{"Key": "a", "Value": "2"}]


def test_time_to_live_is_switched_on(client, hash_table):
    described = client.describe_time_to_live(TableName=hash_table)["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "DISABLED"}
    specification = {"Enabled": True, "AttributeName": "expires"}
    answer = client.update_time_to_live(TableName=hash_table, TimeToLiveSpecification=specification)
    assert answer["TimeToLiveSpecification"] == specification
    described = client.describe_time_to_live(TableName=hash_table)["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires"
    assert described["TimeToLiveStatus"] in ("ENABLED", "ENABLING")


@pytest.mark.beyond_dynamodb_local("it does not protect tables")
def test_a_protected_table_cannot_be_deleted(client, tables, refused):
    name = tables.create("p:S", DeletionProtectionEnabled=True)
    wait_active(client, name)
    text = re.compile("deletion protection|protected against deletion", re.IGNORECASE)
    with refused("ValidationException", text):
        client.delete_table(TableName=name)
    client.update_table(TableName=name, DeletionProtectionEnabled=False)
    client.delete_table(TableName=name)


INVALID = "One or more parameter values were invalid: "
REFUSED = [
    (
        {"KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}]},
        INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
        "Keys: [x], AttributeDefinitions: [p]",
    ),
    (
        {"BillingMode": "PROVISIONED"},
        INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when "
        "BillingMode is PROVISIONED",
    ),
    (
        {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
        "BillingMode is PAY_PER_REQUEST",
    ),
    (
        {"KeySchema": [{"AttributeName": "p", "KeyType": "RANGE"}]},
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
]


@pytest.mark.beyond_dynamodb_local("it words it in its own way or takes it")
@pytest.mark.parametrize(("change", "text"), REFUSED)
def test_a_table_is_refused(client, tables, refused, change, text):
    request = tables.request("p:S") | change
    with refused("ValidationException", text):
        client.create_table(**request)
