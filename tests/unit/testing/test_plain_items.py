"""The shortcut for plain items: boto3 does the same with it as without, only with fewer steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.loaders
import pytest
from botocore.config import Config
from botocore.exceptions import ParamValidationError
from botocore.model import ServiceModel, Shape
from botocore.parsers import JSONParser
from botocore.serialize import JSONSerializer, create_serializer
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from hashrange import testing
from hashrange.testing import LocalDynamoDB
from hashrange.testing.plain_items import PlainItemParser, quicken

PLAIN = {
    "id": {"S": "ä\ud800"},
    "n": {"N": "1"},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1"]},
    "list": {"L": [{"M": {"a": {"S": "x"}}}, {"L": []}]},
    "map": {"M": {}},
}
NOT_PLAIN = [
    {"id": {"B": b"\x00"}},
    {"id": {"BS": [b"\x00", bytearray(b"1")]}},
    {"id": {"M": {"in": {"L": [{"B": b"\xff"}]}}}},
    {"id": {"L": ({"S": "1"}, {"S": "2"})}},
    {"id": {"SS": ("1", "2")}},
    {"id": OrderedDict({"S": "1"})},
    OrderedDict({"id": {"S": "1"}}),
    {"id": {"S": type("Text", (str,), {})("1")}},
    {"id": {"S": "1", "N": "1"}},
    {"id": {}},
    {},
]
WRONG: list[Any] = [
    None,
    [],
    "item",
    {1: {"S": "1"}},
    {"id": "1"},
    {"id": None},
    {"id": {"S": 1}},
    {"id": {"S": None}},
    {"id": {"N": 1}},
    {"id": {"BOOL": "true"}},
    {"id": {"BOOL": 1}},
    {"id": {"NULL": None}},
    {"id": {"B": 1}},
    {"id": {"X": "1"}},
    {"id": {"SS": "text"}},
    {"id": {"SS": [1]}},
    {"id": {"SS": {"a"}}},
    {"id": {"NS": ["1", None]}},
    {"id": {"L": {"S": "1"}}},
    {"id": {"L": ["1"]}},
    {"id": {"M": [{"S": "1"}]}},
    {"id": {"M": {"a": {"M": {2: {"S": "1"}}}}}},
    {"id": {"L": [{"S": 1}, {"M": {"a": {"N": 2}}}]}},
]


# What botocore's validator looks at besides types.
CONSTRAINTS = {"required", "min", "document", "union"}


def load(service: str) -> ServiceModel:
    return ServiceModel(botocore.loaders.Loader().load_service_model(service, "service-2"), service)


MODEL = load("dynamodb")

contents = st.one_of(
    st.text(max_size=2), st.booleans(), st.none(), st.integers(), st.binary(max_size=2)
)
kinds = st.sampled_from(["S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL", "X"])
anything = st.recursive(
    contents,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(kinds, inner, max_size=2),
        st.dictionaries(st.text(max_size=2), inner, max_size=2),
    ),
    max_leaves=15,
)


def outcome(serializer: Any, operation: str, parameters: dict[str, Any]) -> object:
    try:
        return serializer.serialize_to_request(parameters, MODEL.operation_model(operation))
    except ParamValidationError as error:
        return str(error)


def assert_same_requests(operation: str, parameters: dict[str, Any]) -> object:
    quick = create_serializer("json")
    quicken(quick)
    request = outcome(quick, operation, parameters)
    assert request == outcome(create_serializer("json"), operation, parameters)
    return request


def assert_same_answers(body: bytes, operation: str = "GetItem") -> None:
    response = {"status_code": 200, "headers": {}, "body": body}
    shape = MODEL.operation_model(operation).output_shape
    assert PlainItemParser().parse(response, shape) == JSONParser().parse(response, shape)


@pytest.mark.parametrize("item", [PLAIN, *NOT_PLAIN], ids=repr)
def test_good_items_become_the_requests_botocore_makes(item: Any) -> None:
    request = assert_same_requests("PutItem", {"TableName": "Music", "Item": item})
    assert isinstance(request, dict)


@pytest.mark.parametrize("item", WRONG, ids=repr)
def test_bad_items_are_refused_in_the_words_of_botocore(item: Any) -> None:
    message = assert_same_requests("PutItem", {"TableName": "Music", "Item": item})
    assert isinstance(message, str)
    assert "Parameter validation failed" in message


@given(item=anything)
def test_any_item_has_the_outcome_it_has_in_botocore(item: Any) -> None:
    assert_same_requests("PutItem", {"TableName": "Music", "Item": item})
    values = {":a": {"S": "1"}, ":b": item}
    assert_same_requests(
        "UpdateItem",
        {"TableName": "Music", "Key": item, "ExpressionAttributeValues": values, "Extra": 1},
    )


def test_what_surrounds_a_plain_item_is_checked() -> None:
    for parameters in ({"Item": PLAIN}, {"TableName": "", "Item": PLAIN, "Extra": PLAIN}):
        assert isinstance(assert_same_requests("PutItem", parameters), str)


@pytest.mark.parametrize("kind", ["M", "L"])
def test_nesting_that_is_too_deep_for_botocore_stays_so(kind: str) -> None:
    value: dict[str, Any] = {"S": "1"}
    for _ in range(400):
        value = {"M": {"a": value}} if kind == "M" else {"L": [value]}
    with pytest.raises(RecursionError):
        assert_same_requests("PutItem", {"TableName": "Music", "Item": {"id": value}})


@pytest.mark.parametrize(
    "body",
    [
        b'{"Item":{"id":{"S":"1"},"l":{"L":[{"M":{"n":{"N":"1"}}},{"NULL":true}]}}}',
        b'{"Item":{"id":{"B":"AP8="},"s":{"BS":["AA=="]},"m":{"M":{"b":{"B":"AP8="}}}}}',
        b'{"Item":{"id":{"S":null}},"ConsumedCapacity":{"CapacityUnits":0.5}}',
        b'{"Item":{},"Unknown":{"id":{"S":"1"}}}',
        b"{}",
    ],
)
def test_answers_are_parsed_as_botocore_parses_them(body: bytes) -> None:
    assert_same_answers(body)


def test_lists_of_items_are_parsed_as_botocore_parses_them() -> None:
    assert_same_answers(b'{"Count":2,"Items":[{"id":{"S":"1"}},{"id":{"B":"AA=="}}]}', "Query")
    assert_same_answers(b'{"Responses":{"Music":[{"id":{"S":"1"}}]}}', "BatchGetItem")


def shapes_below(shape: Shape, seen: set[str]) -> Iterator[Shape]:
    if shape.name in seen:
        return
    seen.add(shape.name)
    yield shape
    parts = {
        "structure": lambda: shape.members.values(),
        "map": lambda: [shape.key, shape.value],
        "list": lambda: [shape.member],
    }
    for part in parts.get(shape.type_name, list)():
        yield from shapes_below(part, seen)


@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
def test_botocore_demands_nothing_of_attribute_values_but_their_types(service: str) -> None:
    model = load(service)
    maps = [
        shape
        for name in model.shape_names
        if (shape := model.shape_for(name)).type_name == "map"
        and shape.value.name == "AttributeValue"
    ]
    assert maps
    for shape in (part for map_shape in maps for part in shapes_below(map_shape, set())):
        assert not CONSTRAINTS & set(shape.metadata), shape.name
        assert not shape.serialization, shape.name


@pytest.fixture
def db() -> Iterator[LocalDynamoDB]:
    with testing.local() as here:
        yield here


def make_table(client: Any) -> None:
    client.create_table(
        TableName="Music",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    )


def test_no_client_of_the_database_has_botocore_walk_plain_items(
    db: LocalDynamoDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [
        db.client(),
        db.client(config=Config(parameter_validation=False)),
        boto3.client("dynamodb"),
        boto3.Session().client("dynamodb"),
    ]
    make_table(clients[0])

    def refuse(*_: object) -> None:
        pytest.fail("botocore has walked the item")

    for owner, method in [
        (ParamValidator, "_validate_map"),
        (JSONSerializer, "_serialize_type_map"),
        (JSONParser, "_handle_map"),
    ]:
        monkeypatch.setattr(owner, method, refuse)
    item = {**PLAIN, "id": {"S": "1"}}
    for client in clients:
        client.put_item(TableName="Music", Item=item)
        found = client.get_item(TableName="Music", Key={"id": {"S": "1"}})["Item"]
        assert found == item
    table = db.resource().Table("Music")
    table.put_item(Item={"id": "2", "list": [1, {"a": None}]})
    assert table.get_item(Key={"id": "2"})["Item"] == {"id": "2", "list": [1, {"a": None}]}


def test_handlers_of_the_user_see_and_change_requests_and_answers(db: LocalDynamoDB) -> None:
    client = boto3.client("dynamodb")
    make_table(client)
    bodies = []

    def change(params: dict[str, Any], **_: object) -> None:
        params["Item"]["added"] = {"B": b"\x01"}

    def see(params: dict[str, Any], **_: object) -> None:
        bodies.append(params["body"])

    def mark(parsed: dict[str, Any], **_: object) -> None:
        parsed["Mark"] = 1

    client.meta.events.register("before-parameter-build.dynamodb.PutItem", change)
    client.meta.events.register_first("before-call.dynamodb.PutItem", see)
    client.meta.events.register("after-call.dynamodb.PutItem", mark)
    answer = client.put_item(TableName="Music", Item={"id": {"S": "1"}})
    assert answer["Mark"] == 1
    assert bodies == [b'{"TableName": "Music", "Item": {"id": {"S": "1"}, "added": {"B": "AQ=="}}}']
    found = db.client().get_item(TableName="Music", Key={"id": {"S": "1"}})["Item"]
    assert found == {"id": {"S": "1"}, "added": {"B": b"\x01"}}
