"""The shapes of requests against the model the SDKs are made from."""

from typing import Any

import botocore.session
import pytest

from hashrange.api.shapes import requests
from hashrange.api.shapes.scalars import Shape
from hashrange.api.shapes.structures import ListOf, MapOf, Structure

SHAPES = {
    "BatchGetItem": requests.BATCH_GET_ITEM,
    "BatchWriteItem": requests.BATCH_WRITE_ITEM,
    "CreateTable": requests.CREATE_TABLE,
    "DeleteItem": requests.DELETE_ITEM,
    "DeleteTable": requests.DELETE_TABLE,
    "DescribeEndpoints": requests.DESCRIBE_ENDPOINTS,
    "DescribeLimits": requests.DESCRIBE_LIMITS,
    "DescribeStream": requests.DESCRIBE_STREAM,
    "DescribeTable": requests.DESCRIBE_TABLE,
    "DescribeTimeToLive": requests.DESCRIBE_TIME_TO_LIVE,
    "GetItem": requests.GET_ITEM,
    "GetRecords": requests.GET_RECORDS,
    "GetShardIterator": requests.GET_SHARD_ITERATOR,
    "ListStreams": requests.LIST_STREAMS,
    "ListTables": requests.LIST_TABLES,
    "ListTagsOfResource": requests.LIST_TAGS_OF_RESOURCE,
    "PutItem": requests.PUT_ITEM,
    "Query": requests.QUERY,
    "Scan": requests.SCAN,
    "TagResource": requests.TAG_RESOURCE,
    "TransactGetItems": requests.TRANSACT_GET_ITEMS,
    "TransactWriteItems": requests.TRANSACT_WRITE_ITEMS,
    "UntagResource": requests.UNTAG_RESOURCE,
    "UpdateItem": requests.UPDATE_ITEM,
    "UpdateTable": requests.UPDATE_TABLE,
    "UpdateTimeToLive": requests.UPDATE_TIME_TO_LIVE,
}
# Refused whole, so their members are not described.
NOT_DESCRIBED = {
    "GlobalTableWitnessGroupUpdate",
    "ReplicationGroupUpdate",
    "VectorIndex",
    "VectorIndexUpdate",
}


@pytest.fixture(scope="module")
def services() -> list[Any]:
    session = botocore.session.Session()
    return [session.get_service_model(name) for name in ("dynamodb", "dynamodbstreams")]


@pytest.mark.parametrize("operation", sorted(SHAPES))
def test_every_parameter_of_the_model_is_described(services: list[Any], operation: str) -> None:
    (service,) = [service for service in services if operation in service.operation_names]
    _compare(SHAPES[operation], service.operation_model(operation).input_shape, operation)


def _compare(shape: Shape, model: Any, place: str) -> None:
    if model.type_name == "structure" and isinstance(shape, Structure):
        if model.name in NOT_DESCRIBED:
            return
        assert set(shape.members) == set(model.members), place
        for name, member in model.members.items():
            _compare(shape.members[name], member, f"{place}.{name}")
    elif model.type_name == "list" and isinstance(shape, ListOf):
        _compare(shape.member, model.member, f"{place}[]")
    elif model.type_name == "map" and isinstance(shape, MapOf):
        _compare(shape.member, model.value, f"{place}{{}}")
