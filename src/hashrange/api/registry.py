"""The services DynamoDB and DynamoDB Streams with all their operations."""

from __future__ import annotations

from typing import Final

from hashrange.api.items.batches import batch_get_item, batch_write_item
from hashrange.api.items.delete_item import delete_item
from hashrange.api.items.get_item import get_item
from hashrange.api.items.put_item import put_item
from hashrange.api.items.query import query
from hashrange.api.items.scan import scan
from hashrange.api.items.transactions import transact_get_items, transact_write_items
from hashrange.api.items.update_item import update_item
from hashrange.api.operation import Operation, Service
from hashrange.api.partiql import requests as statement_requests
from hashrange.api.partiql.statements import batch_execute_statement, execute_statement
from hashrange.api.partiql.transactions import execute_transaction
from hashrange.api.recovery.backups import (
    create_backup,
    delete_backup,
    describe_backup,
    list_backups,
)
from hashrange.api.recovery.continuous_backups import (
    describe_continuous_backups,
    update_continuous_backups,
)
from hashrange.api.recovery.restores import (
    restore_table_from_backup,
    restore_table_to_point_in_time,
)
from hashrange.api.shapes import insights, recovery, replica_scaling, requests
from hashrange.api.streams.operations import (
    describe_stream,
    get_records,
    get_shard_iterator,
    list_streams,
)
from hashrange.api.tables.contributor_insights import (
    describe_contributor_insights,
    list_contributor_insights,
    update_contributor_insights,
)
from hashrange.api.tables.create_table import create_table
from hashrange.api.tables.other_operations import (
    delete_table,
    describe_endpoints,
    describe_limits,
    describe_table,
    list_tables,
)
from hashrange.api.tables.replica_scaling import refuse_replica_scaling
from hashrange.api.tables.resource_policies import (
    delete_resource_policy,
    get_resource_policy,
    put_resource_policy,
)
from hashrange.api.tables.tags import list_tags_of_resource, tag_resource, untag_resource
from hashrange.api.tables.time_to_live import describe_time_to_live, update_time_to_live
from hashrange.api.tables.update_table import update_table
from hashrange.api.transfers import requests as transfer_requests
from hashrange.api.transfers.bulk_operations import (
    cancel_bulk_operation,
    describe_bulk_operation,
    list_bulk_operations,
    start_bulk_put,
)
from hashrange.api.transfers.exports import describe_export, export_table, list_exports
from hashrange.api.transfers.imports import describe_import, import_table, list_imports

_TRANSFERS: Final = (
    Operation("CancelBulkOperation", transfer_requests.CANCEL_BULK, cancel_bulk_operation),
    Operation("DescribeBulkOperation", transfer_requests.DESCRIBE_BULK, describe_bulk_operation),
    Operation("DescribeExport", transfer_requests.DESCRIBE_EXPORT, describe_export),
    Operation("DescribeImport", transfer_requests.DESCRIBE_IMPORT, describe_import),
    Operation("ExportTableToPointInTime", transfer_requests.EXPORT_TABLE, export_table),
    Operation("ImportTable", transfer_requests.IMPORT_TABLE, import_table),
    Operation("ListBulkOperations", transfer_requests.LIST_BULK, list_bulk_operations),
    Operation("ListExports", transfer_requests.LIST_EXPORTS, list_exports),
    Operation("ListImports", transfer_requests.LIST_IMPORTS, list_imports),
    Operation("StartBulkPutItems", transfer_requests.START_BULK_PUT, start_bulk_put),
)

DYNAMODB: Final = Service(
    "dynamodb",
    (
        Operation(
            "BatchExecuteStatement",
            statement_requests.BATCH_EXECUTE_STATEMENT,
            batch_execute_statement,
        ),
        Operation("BatchGetItem", requests.BATCH_GET_ITEM, batch_get_item, is_read=True),
        Operation("BatchWriteItem", requests.BATCH_WRITE_ITEM, batch_write_item),
        Operation("CreateBackup", recovery.CREATE_BACKUP, create_backup),
        Operation("CreateTable", requests.CREATE_TABLE, create_table),
        Operation("DeleteBackup", recovery.DELETE_BACKUP, delete_backup),
        Operation("DeleteItem", requests.DELETE_ITEM, delete_item),
        Operation("DeleteResourcePolicy", requests.DELETE_RESOURCE_POLICY, delete_resource_policy),
        Operation("DeleteTable", requests.DELETE_TABLE, delete_table),
        Operation("DescribeBackup", recovery.DESCRIBE_BACKUP, describe_backup),
        Operation(
            "DescribeContinuousBackups",
            recovery.DESCRIBE_CONTINUOUS_BACKUPS,
            describe_continuous_backups,
        ),
        Operation("DescribeEndpoints", requests.DESCRIBE_ENDPOINTS, describe_endpoints),
        Operation(
            "DescribeContributorInsights",
            insights.DESCRIBE_CONTRIBUTOR_INSIGHTS,
            describe_contributor_insights,
        ),
        Operation(
            "ListContributorInsights", insights.LIST_CONTRIBUTOR_INSIGHTS, list_contributor_insights
        ),
        Operation(
            "UpdateContributorInsights",
            insights.UPDATE_CONTRIBUTOR_INSIGHTS,
            update_contributor_insights,
        ),
        Operation("DescribeLimits", requests.DESCRIBE_LIMITS, describe_limits),
        Operation("DescribeTable", requests.DESCRIBE_TABLE, describe_table),
        Operation(
            "DescribeTableReplicaAutoScaling",
            replica_scaling.DESCRIBE_TABLE_REPLICA_AUTO_SCALING,
            refuse_replica_scaling,
        ),
        Operation("DescribeTimeToLive", requests.DESCRIBE_TIME_TO_LIVE, describe_time_to_live),
        Operation("ExecuteStatement", statement_requests.EXECUTE_STATEMENT, execute_statement),
        Operation(
            "ExecuteTransaction", statement_requests.EXECUTE_TRANSACTION, execute_transaction
        ),
        Operation("GetItem", requests.GET_ITEM, get_item, is_read=True),
        Operation("GetResourcePolicy", requests.GET_RESOURCE_POLICY, get_resource_policy),
        Operation("ListBackups", recovery.LIST_BACKUPS, list_backups),
        Operation("ListTables", requests.LIST_TABLES, list_tables),
        Operation("ListTagsOfResource", requests.LIST_TAGS_OF_RESOURCE, list_tags_of_resource),
        Operation("PutItem", requests.PUT_ITEM, put_item),
        Operation("PutResourcePolicy", requests.PUT_RESOURCE_POLICY, put_resource_policy),
        Operation("Query", requests.QUERY, query, is_read=True),
        Operation(
            "RestoreTableFromBackup",
            recovery.RESTORE_TABLE_FROM_BACKUP,
            restore_table_from_backup,
        ),
        Operation(
            "RestoreTableToPointInTime",
            recovery.RESTORE_TABLE_TO_POINT_IN_TIME,
            restore_table_to_point_in_time,
        ),
        Operation("Scan", requests.SCAN, scan, is_read=True),
        Operation("TagResource", requests.TAG_RESOURCE, tag_resource, empty_body=b""),
        Operation(
            "TransactGetItems", requests.TRANSACT_GET_ITEMS, transact_get_items, is_read=True
        ),
        Operation("TransactWriteItems", requests.TRANSACT_WRITE_ITEMS, transact_write_items),
        Operation("UntagResource", requests.UNTAG_RESOURCE, untag_resource, empty_body=b""),
        Operation(
            "UpdateContinuousBackups",
            recovery.UPDATE_CONTINUOUS_BACKUPS,
            update_continuous_backups,
        ),
        Operation("UpdateItem", requests.UPDATE_ITEM, update_item),
        Operation("UpdateTable", requests.UPDATE_TABLE, update_table),
        Operation(
            "UpdateTableReplicaAutoScaling",
            replica_scaling.UPDATE_TABLE_REPLICA_AUTO_SCALING,
            refuse_replica_scaling,
        ),
        Operation("UpdateTimeToLive", requests.UPDATE_TIME_TO_LIVE, update_time_to_live),
        *_TRANSFERS,
    ),
    signing_name="dynamodb",
    target_prefix="DynamoDB_20120810",
)

STREAMS: Final = Service(
    "dynamodbstreams",
    (
        Operation("DescribeStream", requests.DESCRIBE_STREAM, describe_stream),
        Operation("GetRecords", requests.GET_RECORDS, get_records),
        Operation("GetShardIterator", requests.GET_SHARD_ITERATOR, get_shard_iterator),
        Operation("ListStreams", requests.LIST_STREAMS, list_streams),
    ),
    signing_name="dynamodb",
    target_prefix="DynamoDBStreams_20120810",
)
