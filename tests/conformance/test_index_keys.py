"""Values that index keys cannot take, by put, update and transaction."""

from typing import Any

import pytest

INVALID = "ValidationException"
EMPTY = "The AttributeValue for a key attribute cannot contain an empty string value."
UPDATED_EMPTY = (
    "One or more parameter values are not valid. The update expression attempted to update a "
    f"secondary index key to a value that is not supported. {EMPTY}"
)
UNSUPPORTED = (
    "The update expression attempted to update the secondary index key to unsupported type"
)


@pytest.fixture
def table(tables: Any) -> str:
    return str(tables.create("k:S", indexes={"by-b": ("b:S",), "by-a": ("b:S", "c:S")}))


def update(client: Any, table: str, expression: str, **values: Any) -> None:
    client.update_item(
        TableName=table,
        Key={"k": {"S": "1"}},
        UpdateExpression=expression,
        **(
            {"ExpressionAttributeValues": {f":{n}": v for n, v in values.items()}} if values else {}
        ),
    )


def test_an_update_cannot_make_an_index_key_empty(client, table, refused):
    with refused(INVALID, UPDATED_EMPTY):
        update(client, table, "SET b = :v", v={"S": ""})


def test_an_update_cannot_copy_another_type_into_an_index_key(client, table, refused):
    client.put_item(TableName=table, Item={"k": {"S": "1"}, "n": {"N": "1"}})
    with refused(INVALID, UNSUPPORTED):
        update(client, table, "SET b = n")


def test_a_mistyped_value_names_the_first_index_by_name(client, table, refused):
    with refused(
        INVALID,
        "One or more parameter values were invalid: Type mismatch for Index Key b Expected: S "
        "Actual: N IndexName: by-a",
    ):
        client.put_item(TableName=table, Item={"k": {"S": "1"}, "b": {"N": "1"}})


def test_an_update_elsewhere_does_not_check_index_keys_again(client, tables):
    table = tables.create("k:S")
    client.put_item(TableName=table, Item={"k": {"S": "1"}, "b": {"N": "1"}})
    client.update_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": "b", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-b",
                    "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    update(client, table, "SET word = :v", v={"S": "x"})
    found = client.get_item(TableName=table, Key={"k": {"S": "1"}}, ConsistentRead=True)["Item"]
    assert found == {"k": {"S": "1"}, "b": {"N": "1"}, "word": {"S": "x"}}


def test_an_empty_index_key_refuses_a_transaction_instead_of_cancelling_it(client, table, refused):
    put = {"TableName": table, "Item": {"k": {"S": "1"}, "b": {"S": ""}}}
    with refused(
        INVALID,
        "One or more parameter values are not valid. A value specified for a secondary index key "
        f"is not supported. {EMPTY} IndexName: by-a, IndexKey: b",
    ):
        client.transact_write_items(TransactItems=[{"Put": put}])
    changed = {
        "TableName": table,
        "Key": {"k": {"S": "1"}},
        "UpdateExpression": "SET b = :v",
        "ExpressionAttributeValues": {":v": {"S": ""}},
    }
    with refused(INVALID, UPDATED_EMPTY):
        client.transact_write_items(TransactItems=[{"Update": changed}])
