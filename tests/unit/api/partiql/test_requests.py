"""The shapes of requests with statements against the model the SDKs are made from."""

from typing import Any

import botocore.session
import pytest

from hashrange.api.partiql import requests as statement_requests
from hashrange.api.shapes.scalars import Shape
from hashrange.api.shapes.structures import ListOf, Structure

SHAPES = {
    "BatchExecuteStatement": statement_requests.BATCH_EXECUTE_STATEMENT,
    "ExecuteStatement": statement_requests.EXECUTE_STATEMENT,
    "ExecuteTransaction": statement_requests.EXECUTE_TRANSACTION,
}


@pytest.mark.parametrize("operation", sorted(SHAPES))
def test_every_parameter_of_the_model_is_described(operation: str) -> None:
    service = botocore.session.Session().get_service_model("dynamodb")
    _compare(SHAPES[operation], service.operation_model(operation).input_shape, operation)


def _compare(shape: Shape, model: Any, place: str) -> None:
    if model.type_name == "structure" and isinstance(shape, Structure):
        assert set(shape.members) == set(model.members), place
        assert set(shape.required) == set(model.required_members), place
        for name, member in model.members.items():
            _compare(shape.members[name], member, f"{place}.{name}")
    elif model.type_name == "list" and isinstance(shape, ListOf):
        assert shape.minimum == model.metadata["min"], place
        assert shape.maximum == model.metadata.get("max"), place
        _compare(shape.member, model.member, f"{place}[]")
