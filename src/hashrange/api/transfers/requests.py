"""Request shapes of exports, imports and bulk operations; see `api/shapes/requests`."""

from __future__ import annotations

from typing import Final

from hashrange.api.shapes.requests import CREATE_TABLE
from hashrange.api.shapes.scalars import NAME_PATTERN, Number, String
from hashrange.api.shapes.structures import AttributeValue, ListOf, MapOf, Structure
from hashrange.limits import LIST_JOBS_PAGE_MAX

_TABLE_ARN: Final = String(minimum=1, maximum=1024)
_JOB_ARN: Final = String(minimum=37, maximum=1024)
_BUCKET: Final = String(maximum=255, pattern=r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$")
_OWNER: Final = String(pattern="[0-9]{12}")
_PREFIX: Final = String(maximum=1024)
_TOKEN: Final = String(pattern=r"^[^\$]+$")
_ENCRYPTION: Final = {
    "S3SseAlgorithm": String(enum=("AES256", "KMS")),
    "S3SseKmsKeyId": String(minimum=1, maximum=2048),
}
_TIME: Final = Number("Double")
_PAGE: Final = Number("Integer", minimum=1, maximum=LIST_JOBS_PAGE_MAX)
_COMPRESSION: Final = String(enum=("GZIP", "ZSTD", "NONE"))
_HEX_TOKEN: Final = String(minimum=112, maximum=1024, pattern="([0-9a-f]{16})+")
_FILTER: Final = Structure(
    "FilterSpecification",
    {
        "FilterExpression": String(),
        "KeyConditionExpression": String(),
        "ProjectionExpression": String(),
        "ExpressionAttributeNames": MapOf(String()),
        "ExpressionAttributeValues": MapOf(AttributeValue()),
    },
)

EXPORT_TABLE: Final = Structure(
    "ExportTableToPointInTimeInput",
    {
        "TableArn": _TABLE_ARN,
        "ExportTime": _TIME,
        "ClientToken": _TOKEN,
        "S3Bucket": _BUCKET,
        "S3BucketOwner": _OWNER,
        "S3Prefix": _PREFIX,
        **_ENCRYPTION,
        "ExportFormat": String(enum=("DYNAMODB_JSON", "ION")),
        "ExportType": String(enum=("FULL_EXPORT", "INCREMENTAL_EXPORT")),
        "IncrementalExportSpecification": Structure(
            "IncrementalExportSpecification",
            {
                "ExportFromTime": _TIME,
                "ExportToTime": _TIME,
                "ExportViewType": String(enum=("NEW_IMAGE", "NEW_AND_OLD_IMAGES")),
            },
        ),
        "FilterSpecification": _FILTER,
    },
    required=("TableArn", "S3Bucket"),
)
DESCRIBE_EXPORT: Final = Structure(
    "DescribeExportInput", {"ExportArn": _JOB_ARN}, required=("ExportArn",)
)
LIST_EXPORTS: Final = Structure(
    "ListExportsInput", {"TableArn": _TABLE_ARN, "MaxResults": _PAGE, "NextToken": String()}
)

_TABLE_MEMBERS: Final = (
    "AttributeDefinitions",
    "KeySchema",
    "BillingMode",
    "ProvisionedThroughput",
    "OnDemandThroughput",
    "SSESpecification",
    "GlobalSecondaryIndexes",
    "VectorIndexes",
)
IMPORT_TABLE: Final = Structure(
    "ImportTableInput",
    {
        "ClientToken": _TOKEN,
        "S3BucketSource": Structure(
            "S3BucketSource",
            {"S3BucketOwner": _OWNER, "S3Bucket": _BUCKET, "S3KeyPrefix": _PREFIX},
            required=("S3Bucket",),
        ),
        "InputFormat": String(enum=("DYNAMODB_JSON", "ION", "CSV")),
        "InputFormatOptions": Structure(
            "InputFormatOptions",
            {
                "Csv": Structure(
                    "CsvOptions",
                    {
                        "Delimiter": String(minimum=1, maximum=1, pattern=r"[,;:|\t ]"),
                        "HeaderList": ListOf(
                            String(
                                minimum=1, maximum=65536, pattern=r"[\x20-\x21\x23-\x2B\x2D-\x7E]*"
                            ),
                            minimum=1,
                            maximum=255,
                        ),
                    },
                )
            },
        ),
        "InputCompressionType": _COMPRESSION,
        "TableCreationParameters": Structure(
            "TableCreationParameters",
            {
                "TableName": String(minimum=3, maximum=255, pattern=NAME_PATTERN),
                **{name: CREATE_TABLE.members[name] for name in _TABLE_MEMBERS},
            },
            required=("TableName", "AttributeDefinitions", "KeySchema"),
        ),
    },
    required=("S3BucketSource", "InputFormat", "TableCreationParameters"),
)
DESCRIBE_IMPORT: Final = Structure(
    "DescribeImportInput", {"ImportArn": _JOB_ARN}, required=("ImportArn",)
)
LIST_IMPORTS: Final = Structure(
    "ListImportsInput", {"TableArn": _TABLE_ARN, "PageSize": _PAGE, "NextToken": _HEX_TOKEN}
)

START_BULK_PUT: Final = Structure(
    "StartBulkPutItemsInput",
    {
        "ClientToken": _TOKEN,
        "InputS3Configuration": Structure(
            "InputS3Configuration",
            {
                "S3BucketOwner": _OWNER,
                "S3Bucket": _BUCKET,
                "S3KeyPrefix": _PREFIX,
                "InputFormat": String(enum=("DYNAMODB_JSON", "ION")),
                "InputCompressionType": _COMPRESSION,
            },
            required=("S3Bucket", "InputFormat"),
        ),
        "OutputS3Configuration": Structure(
            "OutputS3Configuration",
            {
                "S3BucketOwner": _OWNER,
                "S3Bucket": _BUCKET,
                "S3KeyPrefix": _PREFIX,
                **_ENCRYPTION,
                "OutputType": ListOf(String(enum=("ERROR", "CONDITION_CHECK_FAILURE"))),
            },
            required=("OutputType",),
        ),
        "TableName": _TABLE_ARN,
        "MaxWriteRequestUnits": Number("Long", minimum=1024),
        "PerformanceTier": String(enum=("STANDARD", "ACCELERATED")),
    },
    required=("InputS3Configuration", "OutputS3Configuration", "TableName"),
)
_BULK_ARN: Final = Structure(
    "BulkOperationInput", {"BulkOperationArn": _JOB_ARN}, required=("BulkOperationArn",)
)
DESCRIBE_BULK: Final = _BULK_ARN
CANCEL_BULK: Final = _BULK_ARN
LIST_BULK: Final = Structure(
    "ListBulkOperationsInput",
    {
        "MaxResults": _PAGE,
        "NextToken": String(minimum=1, maximum=1024, pattern="([0-9a-f]{16})+"),
    },
)
