"""The shapes of requests about automatic scaling of replicas, of which there are none.

What is below a list or a structure is always refused, so it is not described.
"""

from __future__ import annotations

from typing import Final

from hashrange.api.shapes.scalars import TableName
from hashrange.api.shapes.structures import ListOf, Structure

_TABLE: Final = TableName(minimum=1)
_NOT_OFFERED: Final = Structure("NotOffered", {})

DESCRIBE_TABLE_REPLICA_AUTO_SCALING: Final = Structure(
    "DescribeTableReplicaAutoScalingInput", {"TableName": _TABLE}, required=("TableName",)
)
UPDATE_TABLE_REPLICA_AUTO_SCALING: Final = Structure(
    "UpdateTableReplicaAutoScalingInput",
    {
        "GlobalSecondaryIndexUpdates": ListOf(_NOT_OFFERED),
        "TableName": _TABLE,
        "ProvisionedWriteCapacityAutoScalingUpdate": _NOT_OFFERED,
        "ReplicaUpdates": ListOf(_NOT_OFFERED),
    },
    required=("TableName",),
)
