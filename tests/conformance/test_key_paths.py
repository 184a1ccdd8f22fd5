"""No path leads into a key attribute; what a query is refused for first when much is wrong."""

import pytest

TEXT = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed"
KEY = {"p": {"S": "k"}, "r": {"S": "1"}}
OWN_ORDER = pytest.mark.beyond_dynamodb_local("it refuses in another order or in other words")


@pytest.fixture
def indexed(tables):
    return tables.create(
        "p:S",
        "r:S",
        indexes={"by_g": ("g:S", "h:S")},
        projections={"by_g": {"ProjectionType": "KEYS_ONLY"}},
    )


@pytest.mark.parametrize(("path", "place"), [("p.x", "Key: p"), ("h[0]", "IndexKey: h")])
def test_reads_have_no_path_into_a_key(client, indexed, refused, path, place):
    condition = {"FilterExpression": f"attribute_exists({path})"}
    projection = {"ProjectionExpression": path}
    with refused("ValidationException", f"{TEXT}: {place}"):
        client.get_item(TableName=indexed, Key=KEY, **projection)
    for request in (condition, projection):
        with refused("ValidationException", f"{TEXT}: {place}"):
            client.scan(TableName=indexed, **request)
    with refused("ValidationException", f"{TEXT}: {place}"):
        client.query(
            TableName=indexed,
            KeyConditionExpression="p = :p",
            ExpressionAttributeValues={":p": {"S": "k"}},
            **projection,
        )
    with refused("ValidationException", f"{TEXT}: {place}"):
        client.batch_get_item(RequestItems={indexed: {"Keys": [KEY], **projection}})


def test_writes_have_no_path_into_a_key(client, indexed, refused):
    for request in (
        {"UpdateExpression": "SET g.x = :v", "ExpressionAttributeValues": {":v": {"S": "v"}}},
        {"UpdateExpression": "SET v = g[0]"},
        {"ConditionExpression": "attribute_exists(g.x)"},
    ):
        with refused("ValidationException", f"{TEXT}: IndexKey: g"):
            client.update_item(TableName=indexed, Key=KEY, **request)
    with refused("ValidationException", f"{TEXT}: Key: r"):
        client.delete_item(
            TableName=indexed, Key=KEY, ConditionExpression="attribute_not_exists(r.x)"
        )
    with refused("ValidationException", f"{TEXT}: Key: r"):
        client.put_item(
            TableName=indexed, Item=KEY, ConditionExpression="attribute_not_exists(r.x)"
        )


def start(**values):
    return {"ExclusiveStartKey": {name: {"S": value} for name, value in values.items()}}


STRAY = start(p="k", r="1", g="other", h="1")
PREDICATE = "The provided starting key does not match the range key predicate"
UNPROJECTED = "One or more parameter values were invalid: Secondary index by_g does not project"
SELECT = "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported"


@OWN_ORDER
@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"KeyConditionExpression": "g > :g", **start(p="k")}, "The provided starting key is inva"),
        (
            {"KeyConditionExpression": "g > :g", "FilterExpression": "v = :g", **STRAY},
            "Query key condition not supported",
        ),
        ({"FilterExpression": "h = :g", **STRAY}, "The provided starting key is outside query"),
        ({"FilterExpression": "h = :g AND v = :g"}, "Filter Expression can only contain non-prima"),
        ({"FilterExpression": "v = :g", "Select": "ALL_ATTRIBUTES"}, UNPROJECTED),
        ({"FilterExpression": "p.x = :g", "Select": "ALL_ATTRIBUTES"}, SELECT),
        ({"FilterExpression": "h = :g", "ProjectionExpression": "p.x"}, TEXT),
        (
            {"KeyConditionExpression": "g = :g AND h < :g", **start(p="k", r="1", g="a", h="z")},
            PREDICATE,
        ),
        (
            {"KeyConditionExpression": "g = :g AND h < :g", **start(p="k", r="1", g="a", h="a")},
            "The query can return at most one row and cannot be restarted",
        ),
    ],
)
def test_a_query_is_refused_for_the_first_of_its_faults(client, indexed, more, text):
    request = {"KeyConditionExpression": "g = :g", **more}
    with pytest.raises(client.exceptions.ClientError) as caught:
        client.query(
            TableName=indexed,
            IndexName="by_g",
            ExpressionAttributeValues={":g": {"S": "g"}},
            **request,
        )
    assert caught.value.response["Error"]["Message"].startswith(text)
