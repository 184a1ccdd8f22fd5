"""Every bound of the product in one place: DynamoDB's own limits, and the bounds of our buffers.

Names end in the unit and say which end they bound. A bound that AWS enforces carries AWS's figure;
nothing here is configurable.
"""

from __future__ import annotations

from typing import Final

# Items and values.
ITEM_BYTES_MAX: Final = 409_600
PARTITION_KEY_BYTES_MAX: Final = 2048
SORT_KEY_BYTES_MAX: Final = 1024
NESTING_LEVELS_MAX: Final = 32  # the attribute itself is level 1
ATTRIBUTE_NAME_BYTES_MAX: Final = 65_535
KEY_ATTRIBUTE_NAME_BYTES_MAX: Final = 255

# Numbers. Magnitudes run from 1E-130 to 9.9...E+125.
NUMBER_DIGITS_MAX: Final = 38
NUMBER_EXPONENT_MAX: Final = 125
NUMBER_EXPONENT_MIN: Final = -130
NUMBER_BYTES_MAX: Final = 21

# Expressions.
EXPRESSION_BYTES_MAX: Final = 4096
EXPRESSION_OPERATORS_MAX: Final = 300
EXPRESSION_VARIABLES_BYTES_MAX: Final = 2_097_152  # all names and values of a request together
EXPRESSION_VARIABLES_MAX: Final = 8192  # cannot be used within the bytes of all expressions
EXPRESSION_VARIABLE_BYTES_MAX: Final = 255  # one name or value placeholder
EXPRESSION_DEPTH_MAX: Final = 300  # nesting of parentheses and operators in the parser
IN_OPERANDS_MAX: Final = 100
PROJECTION_PATHS_MAX: Final = 4096  # cannot be reached within the bytes of an expression

# Statements.
STATEMENT_CHARACTERS_MAX: Final = 8192
STATEMENT_DEPTH_MAX: Final = 60  # nesting of parentheses, values and operators in the parser
STATEMENTS_KEPT_MAX: Final = 1024  # parsed statements a process remembers
BATCH_STATEMENTS_MAX: Final = 25
NEXT_TOKEN_CHARACTERS_MAX: Final = 32_768

# Requests and pages.
REQUEST_BODY_BYTES_MAX: Final = 16_777_216
RESPONSE_PAGE_BYTES_MAX: Final = 1_048_576
LIST_MEMBERS_MAX: Final = 10_000  # of a list of a request, attribute values aside
BATCH_GET_KEYS_MAX: Final = 100
BATCH_GET_RESPONSE_BYTES_MAX: Final = 16_777_216
BATCH_WRITE_REQUESTS_MAX: Final = 25
BATCH_WRITE_BYTES_MAX: Final = 16_777_216
SCAN_SEGMENTS_MAX: Final = 1_000_000

# Transactions.
TRANSACTION_ACTIONS_MAX: Final = 100
TRANSACTION_BYTES_MAX: Final = 4_194_304
CLIENT_TOKEN_CHARACTERS_MAX: Final = 36
CLIENT_TOKEN_SECONDS: Final = 600
TRANSACTION_SECONDS_MAX: Final = 5  # after which others may abort one that is not decided

# Tables and indexes.
TABLES_PER_ACCOUNT_MAX: Final = 2500
TABLE_NAME_CHARACTERS_MIN: Final = 3
TABLE_NAME_CHARACTERS_MAX: Final = 255
TABLE_ARN_CHARACTERS_MAX: Final = 1024
LIST_TABLES_PAGE_MAX: Final = 100
TABLES_CHANGING_AT_ONCE_MAX: Final = 500
GLOBAL_INDEXES_MAX: Final = 20
LOCAL_INDEXES_MAX: Final = 5
INDEX_PARTITION_ATTRIBUTES_MAX: Final = 4
INDEX_SORT_ATTRIBUTES_MAX: Final = 4
PROJECTED_ATTRIBUTES_MAX: Final = 100  # non-key attributes summed over all indexes
ITEM_COLLECTION_BYTES_MAX: Final = 10_737_418_240  # only tables with a local index
TAGS_MAX: Final = 50
TAG_KEY_CHARACTERS_MAX: Final = 128
TAG_VALUE_CHARACTERS_MAX: Final = 256

# Streams.
STREAM_RETENTION_SECONDS: Final = 86_400
STREAM_RECORDS_PAGE_MAX: Final = 1000
STREAM_SHARDS_PAGE_MAX: Final = 100
STREAMS_PAGE_MAX: Final = 100
SHARD_ITERATOR_SECONDS: Final = 900
SHARD_SECONDS: Final = 14_400  # after which a shard is rolled over to its child
SHARD_RECORDS_PER_SECOND_MAX: Final = 1000  # beyond which a shard is split
OPEN_SHARDS_MAX: Final = 64  # of one stream

# Capacity.
READ_UNIT_BYTES: Final = 4096
WRITE_UNIT_BYTES: Final = 1024
TABLE_CAPACITY_UNITS_MAX: Final = 40_000
ACCOUNT_CAPACITY_UNITS_MAX: Final = 80_000
CAPACITY_DECREASES_PER_DAY_MAX: Final = 27

# Time to live.
EXPIRED_SECONDS_MAX: Final = 157_766_400  # five years; what expired longer ago is left alone

# Policies.
POLICY_PATTERNS_CACHED_MAX: Final = 4096  # patterns with their variables filled in, per process
POLICY_DECISIONS_CACHED_MAX: Final = 4096  # actions and resources remembered per principal
POLICY_STATEMENTS_MAX: Final = 1000  # cannot be reached within the bytes of a document
MANAGED_POLICY_CHARACTERS_MAX: Final = 6144  # without white space, as the next four
USER_POLICIES_CHARACTERS_MAX: Final = 2048  # all inline policies of a user together
ROLE_POLICIES_CHARACTERS_MAX: Final = 10_240
GROUP_POLICIES_CHARACTERS_MAX: Final = 5120
TRUST_POLICY_CHARACTERS_MAX: Final = 2048
SESSION_POLICY_CHARACTERS_MAX: Final = 2048
RESOURCE_POLICY_BYTES_MAX: Final = 20_480  # white space included

# Requests to neighbour services.
CALL_BODY_BYTES_MAX: Final = 2_097_152  # of the protocols without payloads: JSON, CBOR and query
CALL_LEVELS_MAX: Final = 64  # nesting of structures, lists and maps
CALL_ITEMS_MAX: Final = 100_000  # of one list or map, and fields of one form
CALL_ECHO_CHARACTERS_MAX: Final = 1000  # of a refused value in an error message

# Metrics.
SKETCH_BUCKETS_MAX: Final = 2048  # of one row of samples
METRIC_SERIES_PER_WRITE_MAX: Final = 100  # series merged in one decision
METRIC_MATH_CHARACTERS_MAX: Final = 2048  # of one expression of metric math
METRIC_MATH_DEPTH_MAX: Final = 50
METRIC_CELLS_MAX: Final = 10_000  # operations on tables that a process keeps figures of
INSIGHT_KEYS_MAX: Final = 512  # that a summary of the heaviest keys remembers
INSIGHT_KEY_CHARACTERS_MAX: Final = 3072  # of one value of a key in a summary
METRIC_POINTS_PENDING_MAX: Final = 100_000  # series and minutes that wait to be written

# Alarms.
ALARM_RULE_CHILDREN_MAX: Final = 100  # alarms that one composite alarm names
ALARM_RULE_DEPTH_MAX: Final = 50

# Jobs: exports, imports and their like.
JOBS_AT_A_TIME_MAX: Final = 4  # others wait for their turn
JOBS_ACTIVE_MAX: Final = 50  # of one kind, account and region
EXPORTS_ACTIVE_MAX: Final = 300
LIST_JOBS_PAGE_MAX: Final = 25
JOB_TOKEN_SECONDS: Final = 8 * 3600
JOB_KEPT_SECONDS: Final = 90 * 86_400  # for which a job that has ended is described
LOAD_STEP_ROWS_MAX: Final = 100  # of one decision of a bulk load
LOAD_STEP_BYTES_MAX: Final = 262_144
OBJECT_CHUNK_BYTES: Final = 262_144  # of an object, read or written at a time
OBJECT_PART_BYTES: Final = 8_388_608  # of an object sent to a remote store in parts
OBJECT_KEY_BYTES_MAX: Final = 1024
UPLOAD_SECONDS_MAX: Final = 7 * 24 * 3600  # without a byte written, then it is removed
UPLOAD_SWEEP_SECONDS: Final = 3600  # between two looks for abandoned uploads of a bucket
EXPORT_FILE_BYTES: Final = 134_217_728  # of items in one file of an export, before compression
EXPORT_SECONDS_MIN: Final = 15 * 60  # between the two times of an incremental export
EXPORT_SECONDS_MAX: Final = 24 * 3600
IMPORT_OBJECTS_MAX: Final = 50_000
IMPORT_RECORD_BYTES_MAX: Final = 4_194_304  # of one line of an imported object
IMPORT_ERRORS_KEPT_MAX: Final = 100  # bad records that are reported one by one
IMPORT_BATCH_RECORDS: Final = 50  # decoded at a time, between which requests run
IMPORT_SAVE_RECORDS: Final = 10_000  # after which progress is kept
BULK_SAVE_RECORDS: Final = 1000  # of a bulk put, after which progress is kept
IMPORT_LOAD_RECORDS: Final = 250  # put at a time

# The log.
MISSING_OPERATIONS_LOGGED_MAX: Final = 256  # each once, by each server process
LOGGED_TEXT_CHARACTERS_MAX: Final = 500  # of what a client sent or is told
