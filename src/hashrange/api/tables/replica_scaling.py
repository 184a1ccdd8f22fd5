"""DescribeTableReplicaAutoScaling and UpdateTableReplicaAutoScaling: for global tables only.

There are none here, so both answer what they answer for a table of one region.
"""

from __future__ import annotations

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.errors import ResourceNotFoundException
from hashrange.storage.catalog import resolve_name


async def refuse_replica_scaling(scope: RequestScope, request: Request) -> Response:
    """Refuse a table without replicas, which every table is."""
    name = resolve_name(scope.account, scope.region, request["TableName"])
    scope.touch_table(name)
    raise ResourceNotFoundException(f"Global table with name: {name} does not exist.")
