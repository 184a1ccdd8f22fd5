"""Automatic scaling of replicas is refused, as for a table of one region."""

import pytest

from tests.harness.metered import Metered


@pytest.mark.parametrize(
    "operation", ["DescribeTableReplicaAutoScaling", "UpdateTableReplicaAutoScaling"]
)
def test_a_table_without_replicas_is_no_global_table(operation):
    with Metered() as database:
        database.create(5, 5)
        document = database.refusal(operation, TableName="table")
    assert document["__type"].endswith("#ResourceNotFoundException")
    assert document["message"] == "Global table with name: table does not exist."
