"""BatchGetItem and BatchWriteItem."""

import re

import pytest


def put(key, **attributes):
    return {"PutRequest": {"Item": {"p": {"S": key}, **attributes}}}


def delete(key):
    return {"DeleteRequest": {"Key": {"p": {"S": key}}}}


def test_puts_and_deletes_over_several_tables(client, tables):
    first, second = tables.create("p:S"), tables.create("p:S")
    client.batch_write_item(RequestItems={first: [put("a"), put("b")], second: [put("c")]})
    answer = client.batch_write_item(
        RequestItems={first: [delete("a"), put("d")], second: [delete("c")]}
    )
    assert answer["UnprocessedItems"] == {}
    assert sorted(i["p"]["S"] for i in client.scan(TableName=first)["Items"]) == ["b", "d"]
    assert client.scan(TableName=second)["Count"] == 0


def test_gets_over_several_tables_leave_out_what_is_missing(client, tables):
    first, second = tables.create("p:S"), tables.create("p:S")
    item = {"p": {"S": "a"}, "x": {"N": "1"}, "y": {"N": "2"}}
    client.put_item(TableName=first, Item=item)
    client.put_item(TableName=second, Item=item)
    answer = client.batch_get_item(
        RequestItems={
            first: {"Keys": [{"p": {"S": "a"}}, {"p": {"S": "absent"}}], "ConsistentRead": True},
            second: {
                "Keys": [{"p": {"S": "a"}}],
                "ProjectionExpression": "#y",
                "ExpressionAttributeNames": {"#y": "y"},
            },
        }
    )
    assert answer["Responses"] == {first: [item], second: [{"y": {"N": "2"}}]}
    assert answer["UnprocessedKeys"] == {}


def test_the_largest_batches(client, hash_table):
    for start in range(0, 100, 25):
        client.batch_write_item(
            RequestItems={hash_table: [put(f"k{n}") for n in range(start, start + 25)]}
        )
    keys = [{"p": {"S": f"k{n}"}} for n in range(100)]
    answer = client.batch_get_item(RequestItems={hash_table: {"Keys": keys}})
    assert len(answer["Responses"][hash_table]) == 100


def test_a_batch_of_large_items_stops_at_16_megabytes(client, tables, hash_table):
    later = tables.create("p:S")
    client.put_item(TableName=later, Item={"p": {"S": "last"}})
    for n in range(45):
        client.put_item(TableName=hash_table, Item={"p": {"S": f"k{n}"}, "v": {"S": "x" * 390_000}})
    keys = [{"p": {"S": f"k{n}"}} for n in range(45)]
    answer = client.batch_get_item(
        RequestItems={hash_table: {"Keys": keys}, later: {"Keys": [{"p": {"S": "last"}}]}}
    )
    rest = answer["UnprocessedKeys"][hash_table]["Keys"]
    found = answer["Responses"][hash_table]
    assert len(found) + len(rest) == 45
    assert 41 <= len(found) <= 43
    # Another table's item is answered or left, too.
    left = answer["UnprocessedKeys"].get(later, {"Keys": []})["Keys"]
    assert answer["Responses"].get(later, []) + left == [{"p": {"S": "last"}}]


DUPLICATES = "Provided list of item keys contains duplicates"


def test_an_item_is_named_once(client, hash_table, refused):
    with refused("ValidationException", DUPLICATES):
        client.batch_write_item(RequestItems={hash_table: [put("a"), delete("a")]})
    key = {"p": {"S": "a"}}
    with refused("ValidationException", DUPLICATES):
        client.batch_get_item(RequestItems={hash_table: {"Keys": [key, key]}})


@pytest.mark.beyond_dynamodb_local("it words it in its own way")
def test_batches_have_a_limit(client, hash_table, refused):
    text = re.compile("^1 validation error detected: Value .*at '[rR]equestItems.*' failed to ")
    with refused("ValidationException", text):
        client.batch_write_item(RequestItems={hash_table: [put(f"k{n}") for n in range(26)]})
    keys = [{"p": {"S": f"k{n}"}} for n in range(101)]
    with refused("ValidationException", text):
        client.batch_get_item(RequestItems={hash_table: {"Keys": keys}})


def test_one_bad_item_spoils_the_batch(client, hash_table, refused):
    bad = {"PutRequest": {"Item": {"p": {"N": "1"}}}}
    with refused("ValidationException", re.compile("key")):
        client.batch_write_item(RequestItems={hash_table: [put("a"), bad]})
    assert client.scan(TableName=hash_table)["Count"] == 0


@pytest.mark.beyond_dynamodb_local("it words them as PutItem does")
@pytest.mark.parametrize("item", [{"p": {"N": "1"}}, {"p": {"L": []}}, {"q": {"S": "x"}}])
def test_items_of_a_batch_are_held_to_the_schema_as_keys_are(client, hash_table, refused, item):
    text = "The provided key element does not match the schema"
    for request in ({"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": item}}):
        with refused("ValidationException", text):
            client.batch_write_item(RequestItems={hash_table: [request]})


@pytest.mark.beyond_dynamodb_local("it looks at each table by itself")
def test_a_batch_projects_all_tables_in_one_way(client, tables, refused):
    one, other = tables.create("p:S"), tables.create("p:S")
    keys = [{"p": {"S": "a"}}]
    text = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )
    with refused("ValidationException", text):
        client.batch_get_item(
            RequestItems={
                one: {"Keys": keys, "ProjectionExpression": "p"},
                other: {"Keys": keys, "AttributesToGet": ["p"]},
            }
        )


def test_a_missing_table_spoils_the_batch(client, hash_table, refused):
    with refused("ResourceNotFoundException", re.compile("")):
        client.batch_write_item(RequestItems={hash_table: [put("a")], "absent": [put("a")]})
    assert client.scan(TableName=hash_table)["Count"] == 0
