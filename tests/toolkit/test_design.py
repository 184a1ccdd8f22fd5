"""A design completes its defaults, finds contradictions, and survives the way through a file."""

import dataclasses
import json
from datetime import date
from decimal import Decimal

import pydantic
import pytest

from hashrange.toolkit import (
    AccessPattern,
    Attribute,
    Budget,
    Design,
    Entity,
    Index,
    KeyAttribute,
    Rate,
    Step,
    Table,
    Volume,
    Waiver,
    begins_with,
    between,
    design_to_toml,
    dump_design,
    load_design,
    parse_design,
)
from hashrange.toolkit.design.provisioning import create_table_document
from hashrange.toolkit.errors import DesignError
from tests.harness.presence import there


@dataclasses.dataclass
class User:
    user_id: str
    email: str
    age: int | None = None


class Order(pydantic.BaseModel):
    user_id: str
    order_id: str
    status: str
    total: Decimal
    tags: set[str] = set()


TABLE = Table(
    "Shop",
    partition_key="PK",
    sort_key="SK",
    ttl="expires_at",
    indexes=(
        Index("GSI1", "GSI1PK", KeyAttribute("total", "N"), serves=("orders_by_status",)),
        Index("ByAge", "PK", "age_text", kind="local", projection="KEYS_ONLY"),
    ),
)
USER = Entity(
    "user",
    model=User,
    keys={"PK": "USER#{user_id}", "SK": "PROFILE"},
    unique=("email",),
    volume=Volume(items=1000, item_bytes=300),
)
ORDER = Entity(
    "order",
    model=Order,
    keys={
        "PK": "USER#{user_id}",
        "SK": "ORDER#{order_id}",
        "GSI1PK": "STATUS#{status}#{order_id:shard 4}",
    },
    attributes=(Attribute("status", values=("open", "paid"), distinct=2),),
    version="version",
)
PATTERNS = (
    AccessPattern("user", "get", ("user",)),
    AccessPattern(
        "user_orders", "query", ("order",), sort_key=begins_with("ORDER#"), rate=Rate(5, 50)
    ),
    AccessPattern("orders_by_status", "query", ("order",), index="GSI1"),
    AccessPattern(
        "dear_orders",
        "query",
        ("order",),
        sort_key=between("ORDER#{first}", "ORDER#{last}"),
        filter="total > :minimum",
        budget=Budget(read_units=2),
    ),
    AccessPattern("pay", "update", ("order",), update="SET status = :status"),
    AccessPattern(
        "swap",
        "transact_write",
        steps=(
            Step("create", "user", record="newcomer"),
            Step("delete", "order", rename={"user_id": "leaver", "order_id": "last_order"}),
            Step("update", "order", update="SET total = :total", each="orders"),
        ),
    ),
)
DESIGN = Design(
    "shop",
    (TABLE,),
    (USER, ORDER),
    PATTERNS,
    (Waiver("R1", "we know", "pattern:user_orders", date(2027, 1, 1)),),
    style="single_table",
)


def test_attributes_come_from_the_model_and_may_be_refined():
    assert {each.name: each.type for each in DESIGN.entity("order").attributes} == {
        "user_id": "S",
        "order_id": "S",
        "status": "S",
        "total": "N",
        "tags": "SS",
    }
    assert there(DESIGN.entity("order").attribute("status")).distinct == 2
    assert not there(DESIGN.entity("user").attribute("age")).required


def test_a_pattern_is_completed_from_its_entity():
    assert DESIGN.pattern("user").partition_key == "USER#{user_id}"
    assert there(DESIGN.pattern("user").sort_key).value == "PROFILE"
    assert DESIGN.pattern("user_orders").table == "Shop"
    assert DESIGN.pattern("orders_by_status").partition_key == "STATUS#{status}#{order_id:shard 4}"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("user", ("user_id",)),
        ("user_orders", ("user_id",)),
        ("orders_by_status", ("status",)),
        ("dear_orders", ("user_id", "first", "last", "minimum")),
        ("pay", ("user_id", "order_id", "status")),
        ("swap", ("newcomer", "leaver", "last_order", "orders")),
    ],
)
def test_the_parameters_of_a_pattern_follow_from_keys_and_expressions(name, parameters):
    assert DESIGN.parameters_of(DESIGN.pattern(name)) == parameters


def test_an_entity_is_in_the_indexes_it_has_keys_for():
    assert [index.name for index in DESIGN.indexes_of(DESIGN.entity("order"))] == ["GSI1"]
    assert DESIGN.indexes_of(DESIGN.entity("user")) == ()


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ({"entities": (USER, USER)}, "there are 2 entity declarations called user"),
        ({"entities": (Entity("x", model=dict),)}, "the key attribute PK has no template"),
        ({"entities": (Entity("x", model=dict, table="T"),)}, "there is no table 'T'"),
        (
            {"entities": (Entity("x", {"PK": "{a", "SK": "b"}, model=dict),)},
            "a brace without its counterpart",
        ),
        (
            {"entities": (Entity("x", {"PK": "{nobody}", "SK": "x"}, model=User),)},
            "uses nobody, which is no attribute",
        ),
        (
            {"entities": (Entity("x", {"PK": "a", "SK": "b", "total": "T#{t}"}, model=dict),)},
            "total has type N",
        ),
        ({"patterns": (AccessPattern("p", "query", ("ghost",)),)}, "there is no entity ghost"),
        (
            {"patterns": (AccessPattern("p", "query", ("user",), index="No"),)},
            "table Shop has no index No",
        ),
        (
            {"patterns": (AccessPattern("p", "query", ("order",), index="GSI1", consistent=True),)},
            "strong consistency",
        ),
        ({"patterns": (AccessPattern("p", "update", ("order",)),)}, "needs an update expression"),
        ({"patterns": (AccessPattern("p", "transact_write"),)}, "a transaction needs steps"),
        ({"tables": (dataclasses.replace(TABLE, name="x"),)}, "3 to 255"),
        (
            {"patterns": (AccessPattern("p", "update", ("order",), update="SET user_id = :u"),)},
            "the update changes PK, the primary key",
        ),
        (
            {"patterns": (AccessPattern("p", "update", ("order",), update="ADD status :one"),)},
            "GSI1PK depends on status, which the update does not set",
        ),
        (
            {"patterns": (AccessPattern("p", "transact_write", steps=(Step("delete", "user"),)),)},
            "its unique attributes first",
        ),
    ],
)
def test_a_contradiction_is_refused_with_its_reason(part, problem):
    with pytest.raises(DesignError) as refused:
        dataclasses.replace(DESIGN, **part)
    assert problem in str(refused.value)


def without_models(design):
    return dataclasses.replace(
        design, entities=tuple(dataclasses.replace(each, model=dict) for each in design.entities)
    )


def test_a_design_survives_the_way_through_a_document():
    assert parse_design(dump_design(DESIGN)) == without_models(DESIGN)


@pytest.mark.parametrize("suffix", [".toml", ".yaml", ".json"])
def test_a_design_is_read_from_a_file(tmp_path, suffix):
    path = tmp_path / f"shop{suffix}"
    as_json = json.dumps(dump_design(DESIGN), default=str)
    path.write_text(design_to_toml(DESIGN) if suffix == ".toml" else as_json)
    assert load_design(path) == without_models(DESIGN)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"name": "x"}, "design: tables must be given"),
        ({"name": "x", "tables": {}, "tabels": {}}, "design: unknown tabels"),
        ({"name": "x", "tables": {"Tab": {"partition_key": 1}}}, "design.tables.Tab.partition_key"),
        ({"name": 5, "tables": {}}, "design.name: expected str"),
        (
            {"name": "x", "tables": {"Tab": {"partition_key": "PK", "stream": "ALL"}}},
            "'ALL' is none of",
        ),
        (
            {
                "name": "x",
                "tables": {"Tab": {"partition_key": "PK"}},
                "patterns": {"p": {"operation": "query", "sort_key": {"like": "x"}}},
            },
            "design.patterns.p.sort_key: expected a text, or one of",
        ),
    ],
)
def test_a_mistake_in_a_document_is_located(document, problem):
    with pytest.raises(DesignError) as refused:
        parse_design(document)
    assert problem in str(refused.value)


def test_a_table_becomes_a_create_table_document(dynamodb_client):
    dynamodb_client.create_table(**create_table_document(TABLE))
    table = dynamodb_client.describe_table(TableName="Shop")["Table"]
    assert [each["IndexName"] for each in table["GlobalSecondaryIndexes"]] == ["GSI1"]
    assert [each["IndexName"] for each in table["LocalSecondaryIndexes"]] == ["ByAge"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
