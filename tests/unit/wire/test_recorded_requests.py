"""The recorder sees every request: its service, resources, units, counts, outcome and duration."""

import asyncio
import itertools
import json

import pytest

from hashrange.api.access.transfer_rows import TRANSFER_ROWS
from hashrange.api.registry import DYNAMODB, STREAMS
from hashrange.app.database import Database
from hashrange.clock import VirtualClock
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.wire.stages import Stages
from tests.harness.calls import answer, authorization, json_request, units_of

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/games"
GLOBAL = f"{TABLE}/index/by-score"
LOCAL = f"{TABLE}/index/by-level"
OTHER = "arn:aws:dynamodb:us-east-1:000000000000:table/other"
CAPACITY = {"ReturnConsumedCapacity": "INDEXES"}
KEY = {"p": {"S": "a"}, "s": {"S": "1"}}
ITEM = {**KEY, "score": {"N": "7"}, "level": {"S": "x"}, "text": {"S": "t" * 3000}}
SELECT = {"Statement": "SELECT * FROM games WHERE p='a' AND s='1'"}
UPDATE = {"Statement": "UPDATE games SET score=9 WHERE p='a' AND s='1'"}


class Recorder:
    def __init__(self):
        self.scopes = []

    def record(self, scope):
        self.scopes.append(scope)


REPLICA_SCALING = ("DescribeTableReplicaAutoScaling", "UpdateTableReplicaAutoScaling")


class Site:
    """A database with two tables, and the scopes of the requests it answered."""

    def __init__(self):
        self.recorder = Recorder()
        self.clock = VirtualClock()
        self.database = Database(
            MemoryEngine(), self.clock, stages=Stages(recorders=[self.recorder])
        )

    def call(self, operation, **request):
        """Have a request answered; return its document and its scope."""
        answered = asyncio.run(answer(self.database, operation, json.dumps(request).encode()))
        return json.loads(answered.body or b"{}"), self.recorder.scopes[-1]

    def create(self):
        described, _ = self.call(
            "CreateTable",
            TableName="games",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in (("p", "S"), ("s", "S"), ("score", "N"), ("level", "S"))
            ],
            KeySchema=keys("p", "s"),
            GlobalSecondaryIndexes=[index("by-score", "score")],
            LocalSecondaryIndexes=[index("by-level", "p", "level", projection="KEYS_ONLY")],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )
        self.stream = described["TableDescription"]["LatestStreamArn"]
        self.call(
            "CreateTable",
            TableName="other",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
            KeySchema=keys("p"),
        )
        for number in range(3):
            self.call("PutItem", TableName="games", Item={**ITEM, "s": {"S": str(number)}})

    def iterator(self):
        described, _ = self.call("DescribeStream", StreamArn=self.stream)
        shard = described["StreamDescription"]["Shards"][0]["ShardId"]
        found, _ = self.call(
            "GetShardIterator",
            StreamArn=self.stream,
            ShardId=shard,
            ShardIteratorType="TRIM_HORIZON",
        )
        return found["ShardIterator"]


def keys(*names):
    kinds = itertools.chain(("HASH",), itertools.repeat("RANGE"))
    return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, kinds, strict=False)]


def index(name, *names, projection="ALL"):
    return {
        "IndexName": name,
        "KeySchema": keys(*names),
        "Projection": {"ProjectionType": projection},
    }


@pytest.fixture
def site():
    made = Site()
    made.create()
    return made


def documented_units(document):
    """Return the units of a ConsumedCapacity document by table and index."""
    consumed = document["ConsumedCapacity"]
    units = {}
    for part in consumed if isinstance(consumed, list) else [consumed]:
        units[part["TableName"], None] = part["Table"]["CapacityUnits"]
        for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
            for name, arm in part.get(member, {}).items():
                units[part["TableName"], name] = arm["CapacityUnits"]
    return {place: amount for place, amount in units.items() if amount}


def noted_units(scope, *, writes):
    """Return the noted units of one direction; the other one has none."""
    sums = units_of(scope)
    assert not any(units[not writes] for units in sums.values())
    return {place: units[writes] for place, units in sums.items() if units[writes]}


SINGLE = {"TableName": "games", **CAPACITY}
QUERY = {
    "KeyConditionExpression": "p = :p",
    "ExpressionAttributeValues": {":p": {"S": "a"}},
    **SINGLE,
}
READS = [
    ("GetItem", {"Key": KEY, **SINGLE}, [TABLE], (1, 1)),
    ("GetItem", {"Key": KEY, "ConsistentRead": True, **SINGLE}, [TABLE], (1, 1)),
    ("GetItem", {"Key": {**KEY, "s": {"S": "9"}}, **SINGLE}, [TABLE], (0, 0)),
    ("Query", QUERY, [TABLE], (3, 3)),
    ("Query", {"Limit": 2, **QUERY}, [TABLE], (2, 2)),
    ("Query", {"IndexName": "by-level", **QUERY}, [TABLE, LOCAL], (3, 3)),
    (
        "Query",
        {"IndexName": "by-level", "Select": "ALL_ATTRIBUTES", **QUERY},
        [TABLE, LOCAL],
        (3, 3),
    ),
    ("Scan", SINGLE, [TABLE], (3, 3)),
    (
        "Scan",
        {
            "FilterExpression": "s > :s",
            "ExpressionAttributeValues": {":s": {"S": "1"}},
            "IndexName": "by-score",
            **SINGLE,
        },
        [TABLE, GLOBAL],
        (3, 1),
    ),
    (
        "BatchGetItem",
        {
            "RequestItems": {"games": {"Keys": [KEY]}, "other": {"Keys": [{"p": {"S": "a"}}]}},
            **CAPACITY,
        },
        [TABLE, OTHER],
        (1, 1),
    ),
    (
        "TransactGetItems",
        {"TransactItems": [{"Get": {"TableName": "games", "Key": KEY}}], **CAPACITY},
        [TABLE],
        (1, 1),
    ),
    ("ExecuteStatement", {**SELECT, **CAPACITY}, [TABLE], (1, 1)),
    (
        "ExecuteStatement",
        {"Statement": 'SELECT * FROM games."by-score" WHERE score=7', **CAPACITY},
        [TABLE, GLOBAL],
        (3, 3),
    ),
    ("BatchExecuteStatement", {"Statements": [SELECT], **CAPACITY}, [TABLE], (1, 1)),
    ("ExecuteTransaction", {"TransactStatements": [SELECT], **CAPACITY}, [TABLE], (1, 1)),
]
CHANGED = {**ITEM, "score": {"N": "8"}, "level": {"S": "y"}}
WRITES = [
    ("PutItem", {"Item": CHANGED, **SINGLE}, [TABLE]),
    ("DeleteItem", {"Key": KEY, **SINGLE}, [TABLE]),
    (
        "UpdateItem",
        {
            "Key": KEY,
            "UpdateExpression": "SET score = :n",
            "ExpressionAttributeValues": {":n": {"N": "8"}},
            **SINGLE,
        },
        [TABLE],
    ),
    (
        "BatchWriteItem",
        {
            "RequestItems": {
                "games": [{"PutRequest": {"Item": CHANGED}}],
                "other": [{"PutRequest": {"Item": {"p": {"S": "b"}}}}],
            },
            **CAPACITY,
        },
        [TABLE, OTHER],
    ),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {"TableName": "games", "Item": CHANGED}},
                {"Put": {"TableName": "other", "Item": {"p": {"S": "b"}}}},
            ],
            **CAPACITY,
        },
        [TABLE, OTHER],
    ),
    ("ExecuteStatement", {**UPDATE, **CAPACITY}, [TABLE]),
    ("BatchExecuteStatement", {"Statements": [UPDATE], **CAPACITY}, [TABLE]),
    ("ExecuteTransaction", {"TransactStatements": [UPDATE], **CAPACITY}, [TABLE]),
]


@pytest.mark.parametrize(("operation", "request_", "resources", "counts"), READS)
def test_reads_note_the_units_they_report(site, operation, request_, resources, counts):
    document, scope = site.call(operation, **request_)
    assert noted_units(scope, writes=False) == documented_units(document)
    assert documented_units(document)
    assert scope.resources == resources
    assert (scope.examined_count, scope.returned_count) == counts
    assert (scope.returned_bytes > 0) == (counts[1] > 0)
    assert scope.error == ""


@pytest.mark.parametrize(("operation", "request_", "resources"), WRITES)
def test_writes_note_the_units_they_report(site, operation, request_, resources):
    document, scope = site.call(operation, **request_)
    assert noted_units(scope, writes=True) == documented_units(document)
    assert scope.resources == resources
    assert (scope.service, scope.operation, scope.error) == ("dynamodb", operation, "")


@pytest.mark.parametrize(("operation", "request_"), [case[:2] for case in READS + WRITES])
def test_units_are_noted_also_if_nobody_asks(operation, request_):
    scopes = []
    for asks in (True, False):
        site = Site()
        site.create()
        asked = {k: v for k, v in request_.items() if asks or k != "ReturnConsumedCapacity"}
        document, scope = site.call(operation, **asked)
        assert ("ConsumedCapacity" in document) == asks
        scopes.append(scope)
    assert units_of(scopes[0]) == units_of(scopes[1])
    assert scopes[0].resources == scopes[1].resources


def test_sizes_are_those_of_the_items(site):
    _, scope = site.call("Query", **QUERY, FilterExpression="score = :p")
    assert scope.examined_bytes > 9000
    assert (scope.examined_count, scope.returned_count, scope.returned_bytes) == (3, 0, 0)
    _, scope = site.call("Query", **QUERY)
    assert scope.returned_bytes == scope.examined_bytes
    _, fetching = site.call("Query", **QUERY, IndexName="by-level", Select="ALL_ATTRIBUTES")
    assert fetching.returned_bytes == scope.returned_bytes


def test_the_sizes_returned_are_those_of_the_items_that_the_filter_keeps(site):
    kept = {**KEY, "s": {"S": "5"}, "level": {"S": "kept"}, "text": {"S": "short"}}
    site.call("PutItem", TableName="games", Item=kept)
    _, single = site.call("GetItem", TableName="games", Key={**KEY, "s": {"S": "5"}})
    request = {**QUERY, "FilterExpression": "#t = :t", "ExpressionAttributeNames": {"#t": "text"}}
    request["ExpressionAttributeValues"] = {":p": {"S": "a"}, ":t": {"S": "short"}}
    _, scope = site.call("Query", **request)
    assert (scope.examined_count, scope.returned_count) == (4, 1)
    assert scope.returned_bytes == single.returned_bytes


def test_a_repeated_transaction_reads(site):
    request = {
        "TransactItems": [{"Put": {"TableName": "other", "Item": {"p": {"S": "b"}}}}],
        "ClientRequestToken": "token",
        **CAPACITY,
    }
    site.call("TransactWriteItems", **request)
    document, scope = site.call("TransactWriteItems", **request)
    assert noted_units(scope, writes=False) == documented_units(document) == {("other", None): 2.0}


def test_a_failed_condition_consumes_units_and_is_an_outcome(site):
    request = {"TableName": "games", "Item": ITEM, "ConditionExpression": "attribute_not_exists(p)"}
    _, scope = site.call("PutItem", **request)
    assert scope.error == "ConditionalCheckFailedException"
    assert scope.status == 400
    assert noted_units(scope, writes=True) == {("games", None): 3.0}


POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Allow",
            "Principal": {"AWS": "111111111111"},
            "Action": "dynamodb:GetItem",
            "Resource": TABLE,
        },
    }
)
CONTROL = [
    ("DescribeContributorInsights", {"TableName": "games"}, [TABLE]),
    ("ListContributorInsights", {}, []),
    (
        "UpdateContributorInsights",
        {"TableName": "games", "ContributorInsightsAction": "ENABLE"},
        [TABLE],
    ),
    ("DescribeTable", {"TableName": "games"}, [TABLE]),
    ("DescribeTable", {"TableName": TABLE}, [TABLE]),
    ("UpdateTable", {"TableName": "games", "DeletionProtectionEnabled": True}, [TABLE]),
    (
        "UpdateTimeToLive",
        {
            "TableName": "games",
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
        },
        [TABLE],
    ),
    ("DescribeTimeToLive", {"TableName": "games"}, [TABLE]),
    ("TagResource", {"ResourceArn": TABLE, "Tags": [{"Key": "a", "Value": "b"}]}, [TABLE]),
    ("UntagResource", {"ResourceArn": TABLE, "TagKeys": ["a"]}, [TABLE]),
    ("ListTagsOfResource", {"ResourceArn": TABLE}, [TABLE]),
    ("PutResourcePolicy", {"ResourceArn": TABLE, "Policy": POLICY}, [TABLE]),
    ("DeleteResourcePolicy", {"ResourceArn": TABLE}, [TABLE]),
    ("DeleteTable", {"TableName": "games"}, [TABLE]),
    ("CreateBackup", {"TableName": "games", "BackupName": "nightly"}, [TABLE]),
    ("ListBackups", {"TableName": "games"}, [TABLE]),
    ("DescribeContinuousBackups", {"TableName": "games"}, [TABLE]),
    (
        "UpdateContinuousBackups",
        {
            "TableName": "games",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        },
        [TABLE],
    ),
    ("ListTables", {}, []),
    ("DescribeLimits", {}, []),
    ("DescribeEndpoints", {}, []),
]


@pytest.mark.parametrize(("operation", "request_", "resources"), CONTROL)
def test_operations_on_tables_note_them(site, operation, request_, resources):
    _, scope = site.call(operation, **request_)
    assert (scope.service, scope.operation, scope.error) == ("dynamodb", operation, "")
    assert (scope.resources, scope.consumed) == (resources, [])


def test_reading_a_resource_policy_notes_the_table(site):
    site.call("PutResourcePolicy", ResourceArn=TABLE, Policy=POLICY)
    document, scope = site.call("GetResourcePolicy", ResourceArn=TABLE)
    assert "RevisionId" in document
    assert scope.resources == [TABLE]


def test_backups_and_restores_note_their_tables(site):
    document, _ = site.call("CreateBackup", TableName="games", BackupName="nightly")
    arn = document["BackupDetails"]["BackupArn"]
    asyncio.run(site.database.do_due_work())
    protected = {"PointInTimeRecoveryEnabled": True}
    site.call(
        "UpdateContinuousBackups", TableName="games", PointInTimeRecoverySpecification=protected
    )
    restored = TABLE.replace("games", "restored")
    source = {"SourceTableName": "games", "UseLatestRestorableTime": True}
    for operation, request, resources in (
        ("DescribeBackup", {"BackupArn": arn}, [TABLE]),
        (
            "RestoreTableFromBackup",
            {"BackupArn": arn, "TargetTableName": "restored"},
            [TABLE, restored],
        ),
        (
            "RestoreTableToPointInTime",
            {**source, "TargetTableName": "restored2"},
            [TABLE, f"{restored}2"],
        ),
    ):
        _, scope = site.call(operation, **request)
        assert (scope.error, scope.resources) == ("", resources)
    asyncio.run(site.database.do_due_work())
    _, scope = site.call("DeleteBackup", BackupArn=arn)
    assert (scope.error, scope.resources) == ("", [TABLE])


@pytest.mark.parametrize("operation", REPLICA_SCALING)
def test_what_only_global_tables_have_notes_the_table_that_is_none(site, operation):
    _, scope = site.call(operation, TableName="games")
    assert (scope.error, scope.resources) == ("ResourceNotFoundException", [TABLE])


def test_creating_a_table_notes_it():
    site = Site()
    site.create()
    created = [s for s in site.recorder.scopes if s.operation == "CreateTable"]
    assert [scope.resources for scope in created] == [[TABLE], [OTHER]]


def test_operations_on_streams_note_them(site):
    _, scope = site.call("GetRecords", ShardIterator=site.iterator())
    assert (scope.service, scope.operation) == ("dynamodbstreams", "GetRecords")
    assert (scope.examined_count, scope.returned_count) == (3, 3)
    assert scope.returned_bytes > 9000
    for seen in site.recorder.scopes[-3:]:
        assert (seen.service, seen.resources) == ("dynamodbstreams", [site.stream])
    _, scope = site.call("ListStreams", TableName="games")
    assert scope.resources == [TABLE]


def test_every_operation_has_a_test_here():
    # Those of transfers name tables in their own ways, which tests/transfers look at.
    tested = {case[0] for case in (*READS, *WRITES, *CONTROL)}
    tested |= {
        *REPLICA_SCALING,
        "GetResourcePolicy",
        "CreateTable",
        "DeleteBackup",
        "DescribeBackup",
        "GetRecords",
        "GetShardIterator",
        "DescribeStream",
        "ListStreams",
        *TRANSFER_ROWS,
        "RestoreTableFromBackup",
        "RestoreTableToPointInTime",
    }
    assert tested == {*DYNAMODB.operations, *STREAMS.operations}


def test_the_caller_and_the_time_are_noted(site):
    headers = {
        "authorization": authorization(key="123456789012", region="eu-west-1"),
        "traceparent": "00-1-2-01",
    }
    request = json_request("DynamoDB_20120810.ListTables", b"{}", **headers)
    asyncio.run(site.database.answer(request, b"ID"))
    scope = site.recorder.scopes[-1]
    assert (scope.access_key, scope.account, scope.region) == (
        "123456789012",
        "123456789012",
        "eu-west-1",
    )
    assert scope.principal_arn == "arn:aws:iam::123456789012:root"
    assert (scope.request_id, scope.trace) == ("ID", b"00-1-2-01")
    assert (scope.source_address, scope.peer.is_secure) == ("", False)
    assert scope.duration_seconds > 0
    assert scope.clock is site.clock
    assert scope.engine is site.database.engine


def test_a_refusal_is_recorded_with_its_reason_and_the_table_asked_for(site):
    body = b'{"TableName": "absent", "Key": {"p": {"S": "x"}}}'
    asyncio.run(site.database.answer(json_request("DynamoDB_20120810.GetItem", body)))
    scope = site.recorder.scopes[-1]
    assert (scope.reason, scope.requested_table) == ("Requested resource not found", "absent")


@pytest.mark.parametrize(
    ("target", "body", "headers", "expected"),
    [
        ("DynamoDB_20120810.GetItem", b"{", {}, ("dynamodb", "GetItem", "SerializationException")),
        ("DynamoDB_20120810.Nothing", b"{}", {}, ("", "Nothing", "UnknownOperationException")),
        (
            "DynamoDB_20120810.GetItem",
            b"{}",
            {"authorization": ""},
            ("dynamodb", "GetItem", "MissingAuthenticationTokenException"),
        ),
        ("DynamoDB_20120810.GetItem", b"{}", {}, ("dynamodb", "GetItem", "ValidationException")),
        (
            "DynamoDB_20120810.DescribeTable",
            b'{"TableName": "absent"}',
            {},
            ("dynamodb", "DescribeTable", "ResourceNotFoundException"),
        ),
    ],
)
def test_refusals_are_recorded(site, target, body, headers, expected):
    asyncio.run(site.database.answer(json_request(target, body, **headers)))
    scope = site.recorder.scopes[-1]
    assert (scope.service, scope.operation, scope.error) == expected
    assert scope.status == 400
    assert scope.duration_seconds > 0
