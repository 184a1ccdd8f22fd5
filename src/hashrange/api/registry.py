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
from hashrange.api.operation import Operation, Service, deferred
from hashrange.api.shapes import requests
from hashrange.api.streams.operations import (
    describe_stream,
    get_records,
    get_shard_iterator,
    list_streams,
)
from hashrange.api.tables.create_table import create_table
from hashrange.api.tables.other_operations import (
    delete_table,
    describe_endpoints,
    describe_limits,
    describe_table,
    list_tables,
)
from hashrange.api.tables.tags import list_tags_of_resource, tag_resource, untag_resource
from hashrange.api.tables.time_to_live import describe_time_to_live, update_time_to_live
from hashrange.api.tables.update_table import update_table

DYNAMODB: Final = Service(
    "dynamodb",
    (
        Operation("BatchGetItem", requests.BATCH_GET_ITEM, batch_get_item, is_read=True),
        Operation("BatchWriteItem", requests.BATCH_WRITE_ITEM, batch_write_item),
        Operation("CreateTable", requests.CREATE_TABLE, create_table),
        Operation("DeleteItem", requests.DELETE_ITEM, delete_item),
        Operation("DeleteTable", requests.DELETE_TABLE, delete_table),
        Operation("DescribeEndpoints", requests.DESCRIBE_ENDPOINTS, describe_endpoints),
        Operation("DescribeLimits", requests.DESCRIBE_LIMITS, describe_limits),
        Operation("DescribeTable", requests.DESCRIBE_TABLE, describe_table),
        Operation("DescribeTimeToLive", requests.DESCRIBE_TIME_TO_LIVE, describe_time_to_live),
        Operation("GetItem", requests.GET_ITEM, get_item, is_read=True),
        Operation("ListTables", requests.LIST_TABLES, list_tables),
        Operation("ListTagsOfResource", requests.LIST_TAGS_OF_RESOURCE, list_tags_of_resource),
        Operation("PutItem", requests.PUT_ITEM, put_item),
        Operation("Query", requests.QUERY, query, is_read=True),
        Operation("Scan", requests.SCAN, scan, is_read=True),
        Operation("TagResource", requests.TAG_RESOURCE, tag_resource, empty_body=b""),
        Operation(
            "TransactGetItems", requests.TRANSACT_GET_ITEMS, transact_get_items, is_read=True
        ),
        Operation("TransactWriteItems", requests.TRANSACT_WRITE_ITEMS, transact_write_items),
        Operation("UntagResource", requests.UNTAG_RESOURCE, untag_resource, empty_body=b""),
        Operation("UpdateItem", requests.UPDATE_ITEM, update_item),
        Operation("UpdateTable", requests.UPDATE_TABLE, update_table),
        Operation("UpdateTimeToLive", requests.UPDATE_TIME_TO_LIVE, update_time_to_live),
        *deferred(
            "hashrange.api.partiql.operations",
            "BatchExecuteStatement",
            "ExecuteStatement",
            "ExecuteTransaction",
        ),
        *deferred(
            "hashrange.api.recovery.operations",
            "CreateBackup",
            "DeleteBackup",
            "DescribeBackup",
            "DescribeContinuousBackups",
            "ListBackups",
            "RestoreTableFromBackup",
            "RestoreTableToPointInTime",
            "UpdateContinuousBackups",
        ),
        *deferred(
            "hashrange.api.tables.rare_operations",
            "DeleteResourcePolicy",
            "DescribeContributorInsights",
            "DescribeTableReplicaAutoScaling",
            "GetResourcePolicy",
            "ListContributorInsights",
            "PutResourcePolicy",
            "UpdateContributorInsights",
            "UpdateTableReplicaAutoScaling",
        ),
        *deferred(
            "hashrange.api.transfers.operations",
            "CancelBulkOperation",
            "DescribeBulkOperation",
            "DescribeExport",
            "DescribeImport",
            "ExportTableToPointInTime",
            "ImportTable",
            "ListBulkOperations",
            "ListExports",
            "ListImports",
            "StartBulkPutItems",
        ),
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
