"""Who uses a table with a customer managed key needs that key as well, through DynamoDB."""

import asyncio
import json

import pytest

from hashrange.api.scope import Peer
from hashrange.engine.memory.engine import MemoryEngine
from hashrange.keyring.ciphertexts import make_material
from hashrange.keyring.records import Grant, Key
from hashrange.keyring.store import key_row
from hashrange.neighbours.kms.keys import default_policy
from tests.harness.engines import faulty_engine
from tests.harness.guarded import ACCOUNT, KEY, REGION, USER, GuardedSite, allow, deny, games

ID = "0b0b0b0b-0000-4000-8000-000000000000"
ARN = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{ID}"
ROW = key_row((ACCOUNT, REGION), ID)
OTHER = "arn:aws:iam::222222222222:user/bob"
TEXT = "The ciphertext refers to a customer master key that does not exist"
TABLES = allow("dynamodb:*")


class SealedSite(GuardedSite):
    """A table with a customer managed key."""

    def __init__(self, engine=None, key_policy=None):
        super().__init__(engine=engine)
        material = make_material(self.keys.vault, ID, 0.0)
        text = default_policy(ACCOUNT) if key_policy is None else json.dumps(key_policy)
        self.change(Key(ID, ACCOUNT, REGION, 0.0, text, [material]))
        self.definition = games()

    def change(self, key):
        self.key = key
        asyncio.run(self.keys.change([ROW], lambda _records: {ROW: key}))

    def create(self, key_id=ID):
        self.definition["SSESpecification"] = {"Enabled": True}
        if key_id:
            self.definition["SSESpecification"]["KMSMasterKeyId"] = key_id
        self.be(allow("*"))
        described = self.call("CreateTable", **self.definition)
        self.stream = described["TableDescription"]["LatestStreamArn"]
        self.call("PutItem", TableName="games", Item={**KEY, "score": {"N": "7"}})


def use_statement(**members):
    """Return the policy of a key that allows its use through DynamoDB, as AWS's example does."""
    condition = {"kms:ViaService": f"dynamodb.{REGION}.amazonaws.com"}
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": ["kms:Decrypt", "kms:DescribeKey", "kms:CreateGrant"],
        "Resource": "*",
        "Condition": {"StringEquals": condition},
        **members,
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


@pytest.fixture(params=["memory", "cluster"])
def site(request):
    made = SealedSite(MemoryEngine() if request.param == "memory" else faulty_engine())
    made.create()
    return made


def calls(site):
    key, table = {"TableName": "games", "Key": KEY}, {"TableName": "games"}
    select = "SELECT * FROM games WHERE p = 'a' AND s = '1'"
    condition = {"ExpressionAttributeValues": {":p": {"S": "a"}}}
    return {
        "GetItem": key,
        "PutItem": {**table, "Item": KEY},
        "UpdateItem": key,
        "DeleteItem": key,
        "Query": {**table, "KeyConditionExpression": "p = :p", **condition},
        "Scan": table,
        "BatchGetItem": {"RequestItems": {"games": {"Keys": [KEY]}}},
        "BatchWriteItem": {"RequestItems": {"games": [{"PutRequest": {"Item": KEY}}]}},
        "TransactGetItems": {"TransactItems": [{"Get": key}]},
        "TransactWriteItems": {"TransactItems": [{"Delete": key}]},
        "ExecuteStatement": {"Statement": select},
        "GetRecords": {"ShardIterator": site.iterator()},
    }


def test_calls_on_items_need_decrypt_of_the_tables_key(site):
    for operation, request in calls(site).items():
        site.be(TABLES)
        refused = site.refusal(operation, **request)
        assert refused.startswith("KMS key access denied error: "), operation
        assert TEXT in refused
        site.be(TABLES, allow("kms:Decrypt", ARN))
        # Twice: the second time the answer is known.
        assert site.refusal(operation, **request) == ""
        assert site.refusal(operation, **request) == ""


def test_other_calls_do_not_need_the_key(site):
    site.be(TABLES)
    for operation in ("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"):
        assert site.refusal(operation, TableName="games") == ""
    assert site.refusal("DeleteTable", TableName="games") == ""


def test_a_permission_that_is_taken_away_counts_with_the_next_request(site):
    site.be(TABLES, allow("kms:*"))
    for _ in range(2):
        assert site.refusal("GetItem", TableName="games", Key=KEY) == ""
    site.key.policy = json.dumps(use_statement(Principal={"AWS": OTHER}))
    site.change(site.key)
    assert TEXT in site.refusal("GetItem", TableName="games", Key=KEY)
    grant = Grant("1", "token", USER, ["Decrypt"], 0.0, USER)
    grant.context_equals = {
        "aws:dynamodb:tableName": "games",
        "aws:dynamodb:subscriberId": ACCOUNT,
    }
    site.key.grants = [grant]
    site.change(site.key)
    assert site.refusal("GetItem", TableName="games", Key=KEY) == ""


def test_a_key_policy_may_allow_the_use_through_dynamodb_only():
    site = SealedSite(key_policy=use_statement())
    site.create()
    site.be(TABLES)
    assert site.refusal("GetItem", TableName="games", Key=KEY) == ""
    other = {"StringEquals": {"kms:ViaService": f"s3.{REGION}.amazonaws.com"}}
    site.key.policy = json.dumps(use_statement(Condition=other))
    site.change(site.key)
    assert TEXT in site.refusal("GetItem", TableName="games", Key=KEY)
    context = {"kms:EncryptionContext:aws:dynamodb:tableName": "games"}
    site.key.policy = json.dumps(use_statement(Condition={"StringEquals": context}))
    site.change(site.key)
    assert site.refusal("GetItem", TableName="games", Key=KEY) == ""


def test_conditions_that_differ_between_requests_are_looked_at_each_time(site):
    near = {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    site.be(TABLES, allow("kms:Decrypt", ARN, Condition=near))
    for address, is_refused in (("10.1.1.1", False), ("11.1.1.1", True), ("10.1.1.1", False)):
        site.peer = Peer(address, is_secure=False)
        refused = site.refusal("GetItem", TableName="games", Key=KEY)
        assert bool(refused) is is_refused


def test_an_explicit_deny_of_the_key_closes_the_table(site):
    site.be(allow("*"), deny("kms:Decrypt", ARN))
    assert TEXT in site.refusal("Scan", TableName="games")


def test_whoever_chooses_a_key_needs_to_describe_and_to_grant_it():
    site = SealedSite()
    site.definition["SSESpecification"] = {"Enabled": True, "KMSMasterKeyId": ID}
    needed = ("kms:DescribeKey", "kms:CreateGrant", "kms:Decrypt")
    for action in needed:
        others = [name for name in needed if name != action]
        site.be(TABLES, allow(others, ARN))
        assert site.refusal("CreateTable", **site.definition) == (
            f"User: {USER} is not authorized to perform: {action} on resource: {ARN} "
            f"because no identity-based policy allows the {action} action"
        )
    site.be(TABLES, allow(list(needed), ARN))
    assert site.refusal("CreateTable", **site.definition) == ""
    site.be(TABLES)
    choice = {"Enabled": True, "KMSMasterKeyId": ID}
    update = {"TableName": "games", "SSESpecification": choice}
    assert "kms:DescribeKey" in site.refusal("UpdateTable", **update)
    restore = {"SourceTableName": "games", "TargetTableName": "again"}
    assert "kms:DescribeKey" in site.refusal(
        "RestoreTableToPointInTime", **restore, SSESpecificationOverride=choice
    )


def test_the_key_that_is_managed_for_the_account_needs_no_permission():
    site = SealedSite()
    site.create(key_id="")
    site.be(TABLES)
    assert site.refusal("GetItem", TableName="games", Key=KEY) == ""


def test_another_account_needs_more_than_the_policy_of_the_table():
    site = SealedSite()
    site.create(key_id="")
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/games"
    statement = {"Effect": "Allow", "Principal": {"AWS": OTHER}, "Resource": arn}
    document = {"Version": "2012-10-17", "Statement": [{**statement, "Action": "dynamodb:*"}]}
    site.call("PutResourcePolicy", ResourceArn=arn, Policy=json.dumps(document))
    site.be(allow("*"), arn=OTHER)
    assert TEXT in site.refusal("GetItem", TableName=arn, Key=KEY)
    change = {"Enabled": True, "KMSMasterKeyId": ID}
    site.be(allow("*"))
    site.call("UpdateTable", TableName="games", SSESpecification=change)
    site.be(allow("*"), arn=OTHER)
    assert TEXT in site.refusal("GetItem", TableName=arn, Key=KEY)
    site.key.policy = json.dumps(use_statement(Principal={"AWS": OTHER}))
    site.change(site.key)
    assert site.refusal("GetItem", TableName=arn, Key=KEY) == ""


def test_the_stream_of_a_deleted_table_needs_the_key_of_that_table(site):
    iterator = site.iterator()
    site.call("DeleteTable", TableName="games")
    site.be(TABLES)
    assert TEXT in site.refusal("GetRecords", ShardIterator=iterator)
    site.be(TABLES, allow("kms:Decrypt", ARN))
    for _ in range(2):
        assert site.refusal("GetRecords", ShardIterator=iterator) == ""
    # Another table of that name, without a key, does not open the stream of the one before it.
    site.be(allow("*"))
    site.definition.pop("SSESpecification")
    site.call("CreateTable", **site.definition)
    site.be(TABLES)
    assert TEXT in site.refusal("GetRecords", ShardIterator=iterator)
    assert site.refusal("Scan", TableName="games") == ""


def test_the_stream_of_a_deleted_table_is_closed_as_long_as_its_key_is(site):
    iterators = site.iterators()
    site.call("DeleteTable", TableName="games")

    def keys():
        pages = [site.call("GetRecords", ShardIterator=iterator) for iterator in iterators]
        return [record["dynamodb"]["Keys"] for page in pages for record in page["Records"]]

    assert keys() == [KEY]
    site.key.state = "Disabled"
    site.change(site.key)
    for iterator in iterators:
        assert "is disabled" in site.refusal("GetRecords", ShardIterator=iterator)
    site.key.state = "Enabled"
    site.change(site.key)
    assert keys() == [KEY]


def test_a_stream_without_a_key_needs_none():
    site = SealedSite()
    site.be(allow("*"))
    site.stream = site.call("CreateTable", **site.definition)["TableDescription"]["LatestStreamArn"]
    iterator = site.iterator()
    site.be(TABLES)
    for _ in range(2):
        assert site.refusal("GetRecords", ShardIterator=iterator) == ""
