"""Random requests of the control plane, most of them wrong in one respect."""

from random import Random
from typing import Any

from tests.differential import mutations, tables

THROUGHPUT = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
BAD_NAMES = ("ab", "a" * 256, "no spaces", "né", "", "a/b")


def draw_create_table(random: Random, name: str) -> dict[str, Any]:
    """Return a CreateTable request, in half of the cases with one thing wrong."""
    request = tables.draw_table(random, name, random.random() < 0.7).request()
    if random.random() < 0.3:
        request["BillingMode"] = "PROVISIONED"
        request["ProvisionedThroughput"] = dict(THROUGHPUT)
        for index in request.get("GlobalSecondaryIndexes", []):
            index["ProvisionedThroughput"] = dict(THROUGHPUT)
    if random.random() < 0.5:
        damage(random, request)
    elif random.random() < 0.3:
        request = mutations.mutate_request(random, request)
    return request


def damage(random: Random, request: dict[str, Any]) -> None:
    """Make one thing wrong that only the whole request shows."""
    indexes = request.get("GlobalSecondaryIndexes", []) + request.get("LocalSecondaryIndexes", [])
    index = random.choice(indexes) if indexes else None
    match random.randrange(16):
        case 0:
            request["AttributeDefinitions"].append({"AttributeName": "spare", "AttributeType": "S"})
        case 1:
            request["AttributeDefinitions"].pop()
        case 2:
            request["KeySchema"].reverse()
        case 3:
            request["KeySchema"].append(dict(request["KeySchema"][0]))
        case 4:
            request["KeySchema"][-1]["KeyType"] = random.choice(("HASH", "RANGE", "SORT"))
        case 5:
            request["TableName"] = random.choice(BAD_NAMES)
        case 6:
            request["ProvisionedThroughput"] = dict(THROUGHPUT)
        case 7:
            request["BillingMode"] = "PROVISIONED"
            request.pop("ProvisionedThroughput", None)
        case 8:
            request["ProvisionedThroughput"] = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}
        case 9:
            request["AttributeDefinitions"][0]["AttributeType"] = random.choice(("BOOL", "M", "s"))
        case 10:
            request["GlobalSecondaryIndexes"] = []
        case 11:
            request["LocalSecondaryIndexes"] = []
        case 12 if index:
            index["Projection"] = random.choice(BAD_PROJECTIONS)
        case 13 if index:
            index["KeySchema"] = index["KeySchema"][:1]
        case 14 if index:
            index["IndexName"] = random.choice((*BAD_NAMES, indexes[0]["IndexName"]))
        case _ if index:
            index["KeySchema"][-1]["AttributeName"] = "undefined"


BAD_PROJECTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"ProjectionType": "SOME"},
    {"ProjectionType": "INCLUDE"},
    {"ProjectionType": "INCLUDE", "NonKeyAttributes": []},
    {"ProjectionType": "ALL", "NonKeyAttributes": ["s"]},
    {"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["s"]},
    {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["s", "s"]},
    {"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"a{i}" for i in range(21)]},
    {"NonKeyAttributes": ["s"]},
)


def draw_table_request(random: Random, existing: list[tables.Table]) -> tuple[str, dict[str, Any]]:
    """Return a request on existing tables that leaves them as they are."""
    table = random.choice(existing)
    name = table.name if random.random() < 0.8 else random.choice(("absent", *BAD_NAMES))
    body: dict[str, Any] = {"TableName": name}
    match random.randrange(6):
        case 0:
            operation = "DescribeTable"
        case 1:
            operation = "DeleteTable"
            body["TableName"] = random.choice(("absent", *BAD_NAMES))
        case 2:
            operation = "DescribeTimeToLive"
        case 3:
            operation = "UpdateTable"
            body.update(random.choice(BAD_UPDATES))
        case 4:
            operation = "ListTables"
            body = random.choice(
                ({"Limit": 0}, {"Limit": 101}, {"ExclusiveStartTableName": "a"}, {"Limit": "1"})
            )
        case _:
            operation = "CreateTable"
            body = {**table.request(), "TableName": name}
    if random.random() < 0.15:
        body = mutations.mutate_request(random, body)
        if operation in ("DeleteTable", "UpdateTable"):
            body["TableName"] = "absent"
    return operation, body


BAD_UPDATES: tuple[dict[str, Any], ...] = (
    {},
    {"BillingMode": "PROVISIONED"},
    {"ProvisionedThroughput": THROUGHPUT},
    {"GlobalSecondaryIndexUpdates": []},
    {"GlobalSecondaryIndexUpdates": [{}]},
    {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "absent"}}]},
    {
        "GlobalSecondaryIndexUpdates": [
            {"Update": {"IndexName": "absent", "ProvisionedThroughput": THROUGHPUT}}
        ]
    },
    {
        "GlobalSecondaryIndexUpdates": [
            {
                "Create": {
                    "IndexName": "fresh",
                    "KeySchema": [{"AttributeName": "undefined", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ]
    },
)
