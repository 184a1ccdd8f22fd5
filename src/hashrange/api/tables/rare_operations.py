"""The operations of tables that few servers use: policies, insights, scaling of replicas."""

from __future__ import annotations

from typing import Final

from hashrange.api.operation import Operation
from hashrange.api.shapes import insights, replica_scaling, requests
from hashrange.api.tables.contributor_insights import (
    describe_contributor_insights,
    list_contributor_insights,
    update_contributor_insights,
)
from hashrange.api.tables.replica_scaling import refuse_replica_scaling
from hashrange.api.tables.resource_policies import (
    delete_resource_policy,
    get_resource_policy,
    put_resource_policy,
)

OPERATIONS: Final = (
    Operation("DeleteResourcePolicy", requests.DELETE_RESOURCE_POLICY, delete_resource_policy),
    Operation(
        "DescribeContributorInsights",
        insights.DESCRIBE_CONTRIBUTOR_INSIGHTS,
        describe_contributor_insights,
    ),
    Operation(
        "DescribeTableReplicaAutoScaling",
        replica_scaling.DESCRIBE_TABLE_REPLICA_AUTO_SCALING,
        refuse_replica_scaling,
    ),
    Operation("GetResourcePolicy", requests.GET_RESOURCE_POLICY, get_resource_policy),
    Operation(
        "ListContributorInsights", insights.LIST_CONTRIBUTOR_INSIGHTS, list_contributor_insights
    ),
    Operation("PutResourcePolicy", requests.PUT_RESOURCE_POLICY, put_resource_policy),
    Operation(
        "UpdateContributorInsights",
        insights.UPDATE_CONTRIBUTOR_INSIGHTS,
        update_contributor_insights,
    ),
    Operation(
        "UpdateTableReplicaAutoScaling",
        replica_scaling.UPDATE_TABLE_REPLICA_AUTO_SCALING,
        refuse_replica_scaling,
    ),
)
