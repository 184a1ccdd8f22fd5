"""Designs from CreateTable, live tables, CloudFormation, Terraform and NoSQL Workbench."""

import dataclasses

import pytest

from hashrange.model.numbers import normalize
from hashrange.model.numbers import size as size_on_the_server
from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.client.tables import TableClient
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern, begins_with
from hashrange.toolkit.design.provisioning import create_table_document
from hashrange.toolkit.design.tables import Capacity, Index, KeyAttribute, Table
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.importers.cloudformation import design_from_cloudformation
from hashrange.toolkit.importers.live_table import design_from_live_table
from hashrange.toolkit.importers.table_documents import (
    design_from_documents,
    table_from_document,
)
from hashrange.toolkit.importers.terraform import design_from_terraform
from hashrange.toolkit.importers.workbench import design_from_workbench
from hashrange.toolkit.item_sizes import number_bytes
from tests.harness.presence import there

TABLE = Table(
    "Shop",
    "PK",
    KeyAttribute("SK", "N"),
    indexes=(
        Index("GSI1", KeyAttribute("GSI1PK"), KeyAttribute("SK", "N")),
        Index("Few", KeyAttribute("GSI1PK"), projection="INCLUDE", include=("a", "b")),
        Index(
            "Local",
            KeyAttribute("PK"),
            KeyAttribute("at"),
            kind="local",
            projection="KEYS_ONLY",
        ),
    ),
    stream="NEW_IMAGE",
    deletion_protection=True,
    encryption="managed",
    tags={"stage": "test"},
)


def plain(table):
    return dataclasses.replace(
        table,
        partition_key=table.partition,
        sort_key=table.sort,
        indexes=tuple(
            dataclasses.replace(each, partition_key=each.partition, sort_key=each.sort)
            for each in table.indexes
        ),
    )


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        dataclasses.replace(TABLE, capacity=Capacity("on_demand", 100, 50)),
        Table("Old", "id", capacity=Capacity("provisioned", 5, 6)),
    ],
    ids=["on demand", "bounded", "provisioned"],
)
def test_a_table_survives_the_way_through_create_table(table):
    assert table_from_document(create_table_document(table)) == plain(table)


def test_a_description_is_read_like_a_creation(dynamodb_client):
    table = dataclasses.replace(TABLE, encryption="owned", tags={})
    dynamodb_client.create_table(**create_table_document(table))
    description = dynamodb_client.describe_table(TableName="Shop")["Table"]
    design = design_from_documents([description])
    assert design.tables[0] == plain(table)


def test_keys_of_several_attributes_are_refused():
    document = create_table_document(TABLE)
    document["KeySchema"].append({"AttributeName": "X", "KeyType": "HASH"})
    with pytest.raises(DesignError, match="several attributes"):
        table_from_document(document)


def test_cloudformation_templates_are_read():
    template = {
        "Resources": {
            "Orders": {
                "Type": "AWS::DynamoDB::Table",
                "Properties": {
                    "TableName": {"Fn::Sub": "${Stage}-orders"},
                    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                    "ProvisionedThroughput": {"ReadCapacityUnits": "5", "WriteCapacityUnits": 6},
                    "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
                    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
                    "SSESpecification": {"SSEEnabled": True, "KMSMasterKeyId": "alias/x"},
                    "StreamSpecification": {"StreamViewType": "KEYS_ONLY"},
                },
            },
            "Scaling": {
                "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
                "Properties": {
                    "ResourceId": {"Fn::Sub": "table/${Orders}"},
                    "MinCapacity": 5,
                    "MaxCapacity": 50,
                },
            },
            "Simple": {"Type": "AWS::Serverless::SimpleTable"},
            "Bucket": {"Type": "AWS::S3::Bucket"},
        }
    }
    orders, simple = design_from_cloudformation(template).tables
    assert (orders.name, orders.ttl, orders.stream) == ("Orders", "ttl", "KEYS_ONLY")
    assert (orders.point_in_time_recovery, orders.encryption) == (True, "customer")
    assert (orders.capacity.read_units, orders.capacity.write_units) == (5, 6)
    assert there(orders.capacity.auto_scaling).maximum_units == 50
    assert (simple.name, simple.partition.name, simple.capacity.mode) == (
        "Simple",
        "id",
        "on_demand",
    )


TERRAFORM = {
    "name": "orders",
    "billing_mode": "PAY_PER_REQUEST",
    "hash_key": "PK",
    "range_key": "SK",
    "attribute": [{"name": "PK", "type": "S"}, {"name": "SK", "type": "N"}],
    "global_secondary_index": [
        {"name": "BySort", "hash_key": "SK", "projection_type": "KEYS_ONLY"},
    ],
    "local_secondary_index": [
        {"name": "L", "range_key": "SK", "projection_type": "ALL"},
    ],
    "ttl": [{"attribute_name": "ttl", "enabled": True}],
    "point_in_time_recovery": [{"enabled": True}],
    "server_side_encryption": [{"enabled": True, "kms_key_arn": "arn:x"}],
    "stream_enabled": True,
    "stream_view_type": "NEW_IMAGE",
    "tags": {"a": "b"},
}


@pytest.mark.parametrize(
    "document",
    [
        {
            "values": {
                "root_module": {
                    "child_modules": [
                        {"resources": [{"type": "aws_dynamodb_table", "values": TERRAFORM}]}
                    ]
                }
            }
        },
        {
            "planned_values": {
                "root_module": {
                    "resources": [
                        {"type": "aws_s3_bucket", "values": {}},
                        {"type": "aws_dynamodb_table", "values": TERRAFORM},
                    ]
                }
            }
        },
        {"resource": {"aws_dynamodb_table": {"orders": TERRAFORM}}},
    ],
    ids=["state", "plan", "configuration"],
)
def test_terraform_is_read(document):
    (table,) = design_from_terraform(document).tables
    assert (table.name, table.partition.name, there(table.sort).type) == ("orders", "PK", "N")
    assert [(each.name, each.kind, each.projection) for each in table.indexes] == [
        ("BySort", "global", "KEYS_ONLY"),
        ("L", "local", "ALL"),
    ]
    assert (table.ttl, table.point_in_time_recovery, table.encryption) == ("ttl", True, "customer")
    assert (table.stream, table.tags) == ("NEW_IMAGE", {"a": "b"})


WORKBENCH = {
    "ModelName": "Forum",
    "ModelMetadata": {"Description": "Threads and replies", "Version": "3.0"},
    "DataModel": [
        {
            "TableName": "Forum",
            "KeyAttributes": {
                "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
                "SortKey": {"AttributeName": "SK", "AttributeType": "S"},
            },
            "NonKeyAttributes": [{"AttributeName": "views", "AttributeType": "N"}],
            "TableFacets": [
                {
                    "FacetName": "Thread Head",
                    "KeyAttributeAlias": {"PartitionKeyAlias": "thread", "SortKeyAlias": "SK"},
                    "NonKeyAttributes": ["views"],
                    "TableData": [],
                }
            ],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "ByViews",
                    "KeyAttributes": {
                        "PartitionKey": {"AttributeName": "SK", "AttributeType": "S"},
                        "SortKey": {"AttributeName": "views", "AttributeType": "N"},
                    },
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            "BillingMode": "PROVISIONED",
            "ProvisionedCapacitySettings": {
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 4}
            },
        },
        {
            "TableName": "Users",
            "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}},
            "NonKeyAttributes": [],
            "TableFacets": [],
            "TableData": [{"PK": {"S": f"USER#{n}"}, "name": {"S": "x"}} for n in range(3)],
        },
    ],
}


def test_workbench_models_are_read():
    design = design_from_workbench(WORKBENCH)
    assert (design.name, design.description) == ("Forum", "Threads and replies")
    forum = design.table("Forum")
    assert forum.capacity == Capacity("provisioned", 5, 4)
    assert forum.index("ByViews").sort == KeyAttribute("views", "N")
    assert there(design.entity("thread_head").attribute("views")).type == "N"
    assert design.entity("user").keys == {"PK": "USER#{user_id}"}
    with pytest.raises(DesignError, match="no DataModel"):
        design_from_workbench({})


@pytest.fixture
def app(service):
    table = Table("App", "PK", "SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),), ttl="ttl")
    bound = BoundDesign(Design("app", (table,)), service)
    bound.create_tables()
    return TableClient(service, "App")


def fill(app, label):
    for user in range(4):
        more = {"kind": "x"} if not label else {label: "user"}
        app.put({"PK": f"USER#{user}", "SK": "PROFILE", "email": f"{user}@x", **more})
        for order in range(5):
            more = {"kind": "y"} if not label else {label: "order"}
            number = f"{user}{order}"
            app.put(
                {
                    "PK": f"USER#{user}",
                    "SK": f"ORDER#2026-01-0{order}#{number}",
                    "GSI1PK": f"ORDER#{number}",
                    "GSI1SK": f"USER#{user}",
                    "order_id": number,
                    "total": order,
                    **more,
                }
            )


@pytest.mark.parametrize("label", ["", "type", "entityType"])
def test_entities_of_a_live_table_are_inferred_from_their_keys(app, service, label):
    fill(app, label)
    design = design_from_live_table(service, "App", name="app")
    assert design.table("App").ttl == "ttl"
    assert design.table("App").entity_attribute == label
    names = {"order", "profile"} if not label else {"order", "user"}
    assert all(entity.label == "" for entity in design.entities)
    assert {entity.name for entity in design.entities} == names
    order = design.entity("order")
    assert order.keys["PK"] == "USER#{user_id}"
    assert order.keys["SK"] == "ORDER#{order_date}#{order_id}"
    assert order.keys["GSI1PK"] == "ORDER#{order_id}"
    assert there(order.attribute("total")).type == "N"
    assert order.volume.items == 20
    assert there(order.volume.item_bytes) > 50


def test_an_inferred_design_can_be_used(app, service):
    fill(app, "type")
    draft = design_from_live_table(service, "App")
    design = dataclasses.replace(
        draft,
        patterns=(
            AccessPattern("orders", "query", ("order",), sort_key=begins_with("ORDER#")),
            AccessPattern("order", "query", ("order",), index="GSI1", single=True),
        ),
    )
    bound = BoundDesign(design, service)
    assert [each["total"] for each in bound.orders("2")] == [0, 1, 2, 3, 4]
    assert bound.order(order_id="13")["total"] == 3


def test_a_table_with_plain_keys_has_one_entity(service):
    service.create_table(
        **create_table_document(Table("Readings", "sensor", KeyAttribute("at", "N")))
    )
    table = TableClient(service, "Readings")
    table.batch_write([{"sensor": f"s{n % 3}", "at": n, "value": b"x"} for n in range(30)])
    (entity,) = design_from_live_table(service, "Readings").entities
    assert (entity.name, entity.keys) == ("readings", {})
    assert there(entity.attribute("at")).type == "N"
    assert there(entity.attribute("sensor")).values == ("s0", "s1", "s2")


@pytest.mark.parametrize(
    "text",
    ["0", "1", "12", "123", "100", "1000", "-5", "1.5", "0.001", "-123.456", "9" * 38, "1e20"],
)
def test_numbers_are_measured_as_the_server_does(text):
    assert number_bytes(text) == size_on_the_server(normalize(text))
