"""The shape of every request, as data: members in the order in which AWS reports errors.

The figures are those of the service's own model; enum sets stand in the order AWS prints them.
Texts that AWS words in the newer way ("Value at 'Limit' ...") are marked `named`.
"""

from __future__ import annotations

from typing import Final

from hashrange.api.shapes.scalars import NAME_PATTERN, Boolean, Number, String, TableName
from hashrange.api.shapes.structures import AttributeMap, AttributeValue, ListOf, MapOf, Structure
from hashrange.limits import (
    BATCH_GET_KEYS_MAX,
    BATCH_WRITE_REQUESTS_MAX,
    CLIENT_TOKEN_CHARACTERS_MAX,
    INDEX_PARTITION_ATTRIBUTES_MAX,
    INDEX_SORT_ATTRIBUTES_MAX,
    LIST_TABLES_PAGE_MAX,
    SCAN_SEGMENTS_MAX,
    TRANSACTION_ACTIONS_MAX,
)

_TEXT: Final = String()
_FLAG: Final = Boolean()
_LONG: Final = Number("Long")
_DATA_TABLE: Final = TableName(minimum=1)
_WRITTEN_TABLE: Final = TableName(
    minimum=1,
    empty_text="1 validation error detected: Value at 'TableName' failed to satisfy constraint: "
    "Member must have length greater than or equal to 1",
)
_CONTROL_TABLE: Final = TableName(minimum=3)
_INDEX_NAME: Final = String(minimum=3, maximum=255, pattern=NAME_PATTERN)
_ATTRIBUTES: Final = AttributeMap()
_VALUE: Final = AttributeValue()
_VALUES: Final = ListOf(_VALUE)
_NAMES: Final = MapOf(_TEXT)
_ATTRIBUTES_TO_GET: Final = ListOf(_TEXT, minimum=1, maximum=255)
_POSITIVE: Final = Number("Integer", minimum=1)

_RETURN_CONSUMED_CAPACITY: Final = String(enum=("INDEXES", "TOTAL", "NONE"))
_RETURN_ITEM_COLLECTION_METRICS: Final = String(enum=("SIZE", "NONE"))
_RETURN_VALUES: Final = ("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
# The misspelt name is AWS's own.
_UNKNOWN_RETURN_VALUES: Final = (
    "Failed to satisfy constraint: Member must satisfy enum value set: "
    "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
)
_OLD_RETURN_VALUES: Final = String(
    enum=_RETURN_VALUES, generic=_UNKNOWN_RETURN_VALUES, is_joined=True
)
_UPDATE_RETURN_VALUES: Final = String(
    enum=_RETURN_VALUES, generic="1 validation error detected: " + _UNKNOWN_RETURN_VALUES
)
_RETURN_ON_FAILURE: Final = String(enum=("ALL_OLD", "NONE"))
_SELECT: Final = String(
    enum=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES")
)
_COMPARISON: Final = String(
    enum=(
        "IN",
        "NULL",
        "BETWEEN",
        "LT",
        "NOT_CONTAINS",
        "EQ",
        "GT",
        "NOT_NULL",
        "NE",
        "LE",
        "BEGINS_WITH",
        "GE",
        "CONTAINS",
    )
)
_CONDITIONAL_OPERATOR: Final = String(enum=("OR", "AND"))
_UNKNOWN_OPERATOR: Final = (
    "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"
)
_QUERY_CONDITIONAL_OPERATOR: Final = String(enum=("OR", "AND"), generic=_UNKNOWN_OPERATOR)
_WRITE_CONDITIONAL_OPERATOR: Final = String(
    enum=("OR", "AND"), generic="1 validation error detected: " + _UNKNOWN_OPERATOR
)

_CONDITION: Final = Structure(
    "Condition",
    {"AttributeValueList": _VALUES, "ComparisonOperator": _COMPARISON},
    required=("ComparisonOperator",),
)
_CONDITIONS: Final = MapOf(_CONDITION)
_EXPECTED: Final = MapOf(
    Structure(
        "ExpectedAttributeValue",
        {
            "AttributeValueList": _VALUES,
            "ComparisonOperator": _COMPARISON,
            "Exists": _FLAG,
            "Value": _VALUE,
        },
    )
)
_ATTRIBUTE_UPDATES: Final = MapOf(
    Structure(
        "AttributeValueUpdate",
        {"Action": String(enum=("ADD", "DELETE", "PUT")), "Value": _VALUE},
    )
)

GET_ITEM: Final = Structure(
    "GetItemInput",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "AttributesToGet": _ATTRIBUTES_TO_GET,
        "TableName": _DATA_TABLE,
        "Key": _ATTRIBUTES,
        "ConsistentRead": _FLAG,
        "ProjectionExpression": _TEXT,
        "ExpressionAttributeNames": _NAMES,
    },
    required=("TableName", "Key"),
)

PUT_ITEM: Final = Structure(
    "PutItemInput",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": _WRITTEN_TABLE,
        "Item": _ATTRIBUTES,
        "ConditionalOperator": _WRITE_CONDITIONAL_OPERATOR,
        "Expected": _EXPECTED,
        "ReturnValues": _OLD_RETURN_VALUES,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
        "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
        "ConditionExpression": _TEXT,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": _ATTRIBUTES,
    },
    required=("TableName", "Item"),
)

DELETE_ITEM: Final = Structure(
    "DeleteItemInput",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": _WRITTEN_TABLE,
        "ReturnValues": _OLD_RETURN_VALUES,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
        "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
        "Key": _ATTRIBUTES,
        "ConditionalOperator": _WRITE_CONDITIONAL_OPERATOR,
        "Expected": _EXPECTED,
        "ConditionExpression": _TEXT,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": _ATTRIBUTES,
    },
    required=("TableName", "Key"),
)

UPDATE_ITEM: Final = Structure(
    "UpdateItemInput",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": _WRITTEN_TABLE,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
        "ReturnValues": _UPDATE_RETURN_VALUES,
        "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
        "ConditionalOperator": _WRITE_CONDITIONAL_OPERATOR,
        "Key": _ATTRIBUTES,
        "Expected": _EXPECTED,
        "AttributeUpdates": _ATTRIBUTE_UPDATES,
        "ConditionExpression": _TEXT,
        "UpdateExpression": _TEXT,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": _ATTRIBUTES,
    },
    required=("TableName", "Key"),
)

QUERY: Final = Structure(
    "QueryInput",
    {
        "Select": _SELECT,
        "IndexName": _INDEX_NAME,
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "QueryFilter": _CONDITIONS,
        "TableName": _DATA_TABLE,
        "ConditionalOperator": _QUERY_CONDITIONAL_OPERATOR,
        "AttributesToGet": _ATTRIBUTES_TO_GET,
        "Limit": Number("Integer", minimum=1, named=True),
        "KeyConditions": _CONDITIONS,
        "ExclusiveStartKey": _ATTRIBUTES,
        "ConsistentRead": _FLAG,
        "ScanIndexForward": _FLAG,
        "KeyConditionExpression": _TEXT,
        "FilterExpression": _TEXT,
        "ProjectionExpression": _TEXT,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": _ATTRIBUTES,
    },
    required=("TableName",),
)

SCAN: Final = Structure(
    "ScanInput",
    {
        "Select": _SELECT,
        "IndexName": _INDEX_NAME,
        "TotalSegments": Number("Integer", minimum=1, maximum=SCAN_SEGMENTS_MAX),
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TableName": _DATA_TABLE,
        "ConditionalOperator": _CONDITIONAL_OPERATOR,
        "ScanFilter": _CONDITIONS,
        "Segment": Number("Integer", minimum=0, maximum=SCAN_SEGMENTS_MAX - 1),
        "Limit": _POSITIVE,
        "AttributesToGet": _ATTRIBUTES_TO_GET,
        "ExclusiveStartKey": _ATTRIBUTES,
        "ConsistentRead": _FLAG,
        "FilterExpression": _TEXT,
        "ProjectionExpression": _TEXT,
        "ExpressionAttributeNames": _NAMES,
        "ExpressionAttributeValues": _ATTRIBUTES,
    },
    required=("TableName",),
)

BATCH_GET_ITEM: Final = Structure(
    "BatchGetItemInput",
    {
        "RequestItems": MapOf(
            Structure(
                "KeysAndAttributes",
                {
                    "Keys": ListOf(_ATTRIBUTES, minimum=1, maximum=BATCH_GET_KEYS_MAX, named=True),
                    "AttributesToGet": _ATTRIBUTES_TO_GET,
                    "ConsistentRead": _FLAG,
                    "ProjectionExpression": _TEXT,
                    "ExpressionAttributeNames": _NAMES,
                },
                required=("Keys",),
            ),
            minimum=1,
            key=_CONTROL_TABLE,
            named=True,
            echo_json=True,
        ),
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
    },
    required=("RequestItems",),
)

BATCH_WRITE_ITEM: Final = Structure(
    "BatchWriteItemInput",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
        "RequestItems": MapOf(
            ListOf(
                Structure(
                    "WriteRequest",
                    {
                        "DeleteRequest": Structure(
                            "DeleteRequest", {"Key": _ATTRIBUTES}, required=("Key",)
                        ),
                        "PutRequest": Structure(
                            "PutRequest", {"Item": _ATTRIBUTES}, required=("Item",)
                        ),
                    },
                )
            ),
            key=_CONTROL_TABLE,
            lengths=(1, BATCH_WRITE_REQUESTS_MAX),
            late=True,
            empty_text="The requestItems parameter is required for BatchWriteItem",
        ),
    },
    required=("RequestItems",),
)

TRANSACT_GET_ITEMS: Final = Structure(
    "TransactGetItemsInput",
    {
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "TransactItems": ListOf(
            Structure(
                "TransactGetItem",
                {
                    "Get": Structure(
                        "Get",
                        {
                            "Key": _ATTRIBUTES,
                            "TableName": _DATA_TABLE,
                            "ProjectionExpression": _TEXT,
                            "ExpressionAttributeNames": _NAMES,
                        },
                        required=("Key", "TableName"),
                    )
                },
                required=("Get",),
            ),
            minimum=1,
            maximum=TRANSACTION_ACTIONS_MAX,
        ),
    },
    required=("TransactItems",),
)

_CONDITION_PARAMETERS: Final = {
    "ConditionExpression": _TEXT,
    "ExpressionAttributeNames": _NAMES,
    "ExpressionAttributeValues": _ATTRIBUTES,
    "ReturnValuesOnConditionCheckFailure": _RETURN_ON_FAILURE,
}

TRANSACT_WRITE_ITEMS: Final = Structure(
    "TransactWriteItemsInput",
    {
        "ClientRequestToken": String(minimum=1, maximum=CLIENT_TOKEN_CHARACTERS_MAX),
        "ReturnConsumedCapacity": _RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": _RETURN_ITEM_COLLECTION_METRICS,
        "TransactItems": ListOf(
            Structure(
                "TransactWriteItem",
                {
                    "ConditionCheck": Structure(
                        "ConditionCheck",
                        {"Key": _ATTRIBUTES, "TableName": _DATA_TABLE, **_CONDITION_PARAMETERS},
                        required=("Key", "TableName", "ConditionExpression"),
                    ),
                    "Put": Structure(
                        "Put",
                        {"Item": _ATTRIBUTES, "TableName": _DATA_TABLE, **_CONDITION_PARAMETERS},
                        required=("Item", "TableName"),
                    ),
                    "Delete": Structure(
                        "Delete",
                        {"Key": _ATTRIBUTES, "TableName": _DATA_TABLE, **_CONDITION_PARAMETERS},
                        required=("Key", "TableName"),
                    ),
                    "Update": Structure(
                        "Update",
                        {
                            "Key": _ATTRIBUTES,
                            "UpdateExpression": _TEXT,
                            "TableName": _DATA_TABLE,
                            **_CONDITION_PARAMETERS,
                        },
                        required=("Key", "UpdateExpression", "TableName"),
                    ),
                },
            ),
            minimum=1,
            maximum=TRANSACTION_ACTIONS_MAX,
        ),
    },
    required=("TransactItems",),
)

_KEY_SCHEMA_ELEMENT: Final = Structure(
    "KeySchemaElement",
    {
        "AttributeName": String(minimum=1, maximum=255),
        "KeyType": String(enum=("HASH", "RANGE")),
    },
    required=("AttributeName", "KeyType"),
)
_TABLE_KEY_SCHEMA: Final = ListOf(_KEY_SCHEMA_ELEMENT, minimum=1, maximum=2)
_GLOBAL_KEY_SCHEMA: Final = ListOf(
    _KEY_SCHEMA_ELEMENT,
    minimum=1,
    maximum=INDEX_PARTITION_ATTRIBUTES_MAX + INDEX_SORT_ATTRIBUTES_MAX,
)
_ATTRIBUTE_DEFINITIONS: Final = ListOf(
    Structure(
        "AttributeDefinition",
        {
            "AttributeName": String(minimum=1, maximum=255),
            "AttributeType": String(enum=("B", "N", "S")),
        },
        required=("AttributeName", "AttributeType"),
    )
)
_PROVISIONED_THROUGHPUT: Final = Structure(
    "ProvisionedThroughput",
    {
        "WriteCapacityUnits": Number("Long", minimum=1),
        "ReadCapacityUnits": Number("Long", minimum=1),
    },
    required=("WriteCapacityUnits", "ReadCapacityUnits"),
)
_ON_DEMAND_THROUGHPUT: Final = Structure(
    "OnDemandThroughput", {"MaxReadRequestUnits": _LONG, "MaxWriteRequestUnits": _LONG}
)
_WARM_THROUGHPUT: Final = Structure(
    "WarmThroughput", {"ReadUnitsPerSecond": _LONG, "WriteUnitsPerSecond": _LONG}
)
_PROJECTION: Final = Structure(
    "Projection",
    {
        "ProjectionType": String(enum=("ALL", "INCLUDE", "KEYS_ONLY")),
        "NonKeyAttributes": ListOf(String(minimum=1, maximum=255), minimum=1),
    },
)
_GLOBAL_INDEX_MEMBERS: Final = {
    "Projection": _PROJECTION,
    "IndexName": _INDEX_NAME,
    "ProvisionedThroughput": _PROVISIONED_THROUGHPUT,
    "KeySchema": _GLOBAL_KEY_SCHEMA,
    "OnDemandThroughput": _ON_DEMAND_THROUGHPUT,
    "WarmThroughput": _WARM_THROUGHPUT,
}
_INDEX_REQUIRED: Final = ("IndexName", "KeySchema", "Projection")
_BILLING_MODE: Final = String(enum=("PROVISIONED", "PAY_PER_REQUEST"))
_TABLE_CLASS: Final = String(enum=("STANDARD", "STANDARD_INFREQUENT_ACCESS"))
_STREAM_SPECIFICATION: Final = Structure(
    "StreamSpecification",
    {
        "StreamEnabled": _FLAG,
        "StreamViewType": String(
            enum=("OLD_IMAGE", "KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE")
        ),
    },
    required=("StreamEnabled",),
)
_SSE_SPECIFICATION: Final = Structure(
    "SSESpecification",
    {"Enabled": _FLAG, "SSEType": String(enum=("AES256", "KMS")), "KMSMasterKeyId": _TEXT},
)
_TAGS: Final = ListOf(
    Structure(
        "Tag",
        {"Key": String(minimum=1, maximum=128), "Value": String(maximum=256)},
        required=("Key", "Value"),
    )
)
# Always refused, so their members are not described.
_NOT_OFFERED: Final = ListOf(Structure("NotOffered", {}))
_SETTINGS_REPLICATION: Final = String(enum=("ENABLED", "DISABLED", "ENABLED_WITH_OVERRIDES"))

CREATE_TABLE: Final = Structure(
    "CreateTableInput",
    {
        "AttributeDefinitions": _ATTRIBUTE_DEFINITIONS,
        "TableName": _CONTROL_TABLE,
        "BillingMode": _BILLING_MODE,
        "ProvisionedThroughput": _PROVISIONED_THROUGHPUT,
        "KeySchema": _TABLE_KEY_SCHEMA,
        "GlobalSecondaryIndexes": ListOf(
            Structure("GlobalSecondaryIndex", _GLOBAL_INDEX_MEMBERS, required=_INDEX_REQUIRED)
        ),
        "LocalSecondaryIndexes": ListOf(
            Structure(
                "LocalSecondaryIndex",
                {
                    "IndexName": _INDEX_NAME,
                    "KeySchema": _TABLE_KEY_SCHEMA,
                    "Projection": _PROJECTION,
                },
                required=_INDEX_REQUIRED,
            )
        ),
        "StreamSpecification": _STREAM_SPECIFICATION,
        "SSESpecification": _SSE_SPECIFICATION,
        "Tags": _TAGS,
        "TableClass": _TABLE_CLASS,
        "DeletionProtectionEnabled": _FLAG,
        "WarmThroughput": _WARM_THROUGHPUT,
        "ResourcePolicy": _TEXT,
        "OnDemandThroughput": _ON_DEMAND_THROUGHPUT,
        "GlobalTableSourceArn": _TEXT,
        "GlobalTableSettingsReplicationMode": _SETTINGS_REPLICATION,
        "VectorIndexes": _NOT_OFFERED,
    },
    required=("AttributeDefinitions", "KeySchema"),
    parameters=("TableName",),
)

UPDATE_TABLE: Final = Structure(
    "UpdateTableInput",
    {
        "AttributeDefinitions": _ATTRIBUTE_DEFINITIONS,
        "TableName": _CONTROL_TABLE,
        "BillingMode": _BILLING_MODE,
        "ProvisionedThroughput": _PROVISIONED_THROUGHPUT,
        "GlobalSecondaryIndexUpdates": ListOf(
            Structure(
                "GlobalSecondaryIndexUpdate",
                {
                    "Update": Structure(
                        "UpdateGlobalSecondaryIndexAction",
                        {
                            "IndexName": _INDEX_NAME,
                            "ProvisionedThroughput": _PROVISIONED_THROUGHPUT,
                            "OnDemandThroughput": _ON_DEMAND_THROUGHPUT,
                            "WarmThroughput": _WARM_THROUGHPUT,
                        },
                        required=("IndexName",),
                    ),
                    "Create": Structure(
                        "CreateGlobalSecondaryIndexAction",
                        _GLOBAL_INDEX_MEMBERS,
                        required=_INDEX_REQUIRED,
                    ),
                    "Delete": Structure(
                        "DeleteGlobalSecondaryIndexAction",
                        {"IndexName": _INDEX_NAME},
                        required=("IndexName",),
                    ),
                },
            )
        ),
        "StreamSpecification": _STREAM_SPECIFICATION,
        "SSESpecification": _SSE_SPECIFICATION,
        "ReplicaUpdates": _NOT_OFFERED,
        "TableClass": _TABLE_CLASS,
        "DeletionProtectionEnabled": _FLAG,
        "MultiRegionConsistency": String(enum=("EVENTUAL", "STRONG")),
        "GlobalTableWitnessUpdates": _NOT_OFFERED,
        "OnDemandThroughput": _ON_DEMAND_THROUGHPUT,
        "WarmThroughput": _WARM_THROUGHPUT,
        "GlobalTableSettingsReplicationMode": _SETTINGS_REPLICATION,
        "DisassociationProtectionEnabled": _FLAG,
        "VectorIndexUpdates": _NOT_OFFERED,
    },
    parameters=("TableName",),
)

DESCRIBE_TABLE: Final = Structure(
    "DescribeTableInput", {"TableName": _CONTROL_TABLE}, parameters=("TableName",)
)
DELETE_TABLE: Final = Structure(
    "DeleteTableInput", {"TableName": _CONTROL_TABLE}, parameters=("TableName",)
)
LIST_TABLES: Final = Structure(
    "ListTablesInput",
    {
        "Limit": Number("Integer", minimum=1, maximum=LIST_TABLES_PAGE_MAX),
        "ExclusiveStartTableName": String(minimum=3, maximum=255, pattern=NAME_PATTERN),
    },
)
DESCRIBE_LIMITS: Final = Structure("DescribeLimitsInput", {})
DESCRIBE_ENDPOINTS: Final = Structure("DescribeEndpointsRequest", {})

# The operation checks the resource name and answers as IAM would.
TAG_RESOURCE: Final = Structure("TagResourceInput", {"ResourceArn": _TEXT, "Tags": _TAGS})
UNTAG_RESOURCE: Final = Structure(
    "UntagResourceInput",
    {"ResourceArn": _TEXT, "TagKeys": ListOf(String(minimum=1, maximum=128))},
)
LIST_TAGS_OF_RESOURCE: Final = Structure(
    "ListTagsOfResourceInput", {"ResourceArn": _TEXT, "NextToken": _TEXT}
)

_POLICY_RESOURCE: Final = String(minimum=1, maximum=1283)
_REVISION: Final = String(minimum=1, maximum=255)
PUT_RESOURCE_POLICY: Final = Structure(
    "PutResourcePolicyInput",
    {
        "ResourceArn": _POLICY_RESOURCE,
        "Policy": _TEXT,
        "ExpectedRevisionId": _REVISION,
        "ConfirmRemoveSelfResourceAccess": _FLAG,
    },
    required=("ResourceArn", "Policy"),
)
GET_RESOURCE_POLICY: Final = Structure(
    "GetResourcePolicyInput", {"ResourceArn": _POLICY_RESOURCE}, required=("ResourceArn",)
)
DELETE_RESOURCE_POLICY: Final = Structure(
    "DeleteResourcePolicyInput",
    {"ResourceArn": _POLICY_RESOURCE, "ExpectedRevisionId": _REVISION},
    required=("ResourceArn",),
)

UPDATE_TIME_TO_LIVE: Final = Structure(
    "UpdateTimeToLiveInput",
    {
        "TableName": _CONTROL_TABLE,
        "TimeToLiveSpecification": Structure(
            "TimeToLiveSpecification",
            {"AttributeName": String(minimum=1, maximum=255), "Enabled": _FLAG},
            required=("AttributeName", "Enabled"),
        ),
    },
    required=("TimeToLiveSpecification",),
    parameters=("TableName",),
)
DESCRIBE_TIME_TO_LIVE: Final = Structure(
    "DescribeTimeToLiveInput", {"TableName": _CONTROL_TABLE}, parameters=("TableName",)
)

_STREAM_ARN: Final = String(minimum=37, maximum=1024)
_SHARD_ID: Final = String(minimum=28, maximum=65)

LIST_STREAMS: Final = Structure(
    "ListStreamsInput",
    {
        "TableName": String(minimum=3, maximum=255, pattern=NAME_PATTERN),
        "Limit": _POSITIVE,
        "ExclusiveStartStreamArn": _STREAM_ARN,
    },
)
DESCRIBE_STREAM: Final = Structure(
    "DescribeStreamInput",
    {
        "StreamArn": _STREAM_ARN,
        "Limit": _POSITIVE,
        "ExclusiveStartShardId": _SHARD_ID,
        "ShardFilter": Structure(
            "ShardFilter", {"Type": String(enum=("CHILD_SHARDS",)), "ShardId": _SHARD_ID}
        ),
    },
    required=("StreamArn",),
)
GET_SHARD_ITERATOR: Final = Structure(
    "GetShardIteratorInput",
    {
        "StreamArn": _STREAM_ARN,
        "ShardId": _SHARD_ID,
        "ShardIteratorType": String(
            enum=(
                "TRIM_HORIZON",
                "LATEST",
                "AT_SEQUENCE_NUMBER",
                "AFTER_SEQUENCE_NUMBER",
                "AT_TIMESTAMP",
            )
        ),
        "SequenceNumber": String(minimum=21, maximum=40),
        "Timestamp": Number("Double"),
    },
    required=("StreamArn", "ShardId", "ShardIteratorType"),
)
GET_RECORDS: Final = Structure(
    "GetRecordsInput",
    {"ShardIterator": String(minimum=1, maximum=2048), "Limit": _POSITIVE},
    required=("ShardIterator",),
)
