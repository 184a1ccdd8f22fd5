"""Attacks on a server with users that are not the business of one module.

Others are tests of what they attack: signatures, replays and clock skew in `auth/test_sigv4`, moved
and forged session tokens in `tests/neighbours/test_identities`, smuggling in
`tests/wire/test_hostile_clients`, DNS rebinding and web pages in `tests/wire/test_visitors`, lines
in the log in `test_request_log`.
"""

import json

import pytest

from hashrange.clock import SystemClock
from hashrange.wire.auth import sigv4
from hashrange.wire.auth.sigv4 import Verifier
from hashrange.wire.recorders.audit_trail import _line_of
from tests.harness.guarded import KEY, GuardedSite, allow, deny, games
from tests.unit.wire.auth.test_sigv4 import keys_of, refusal, shared, signed_request

SECRET = {"p": {"S": "secret"}, "s": {"S": "1"}}


@pytest.fixture
def site():
    made = GuardedSite()
    made.be_root()
    made.create()
    made.call("CreateTable", **{**games(), "TableName": "secrets"})
    made.call("PutItem", TableName="games", Item=SECRET)
    made.call("PutItem", TableName="secrets", Item=SECRET)
    return made


def test_a_signed_request_cannot_be_made_to_read_the_past():
    request = signed_request()
    request.headers[b"x-hashrange-at"] = b"2020-01-01T00:00:00Z"
    code, message = refusal(Verifier(keys_of("AKID"), SystemClock()), request)
    assert code == "InvalidSignatureException"
    assert message == "'X-Hashrange-At' must be a 'SignedHeader' in the AWS Authorization."


def test_an_iterator_taken_to_another_principal_opens_nothing(site):
    iterator = site.iterator()
    assert site.call("GetRecords", ShardIterator=iterator)["Records"]
    stream = site.stream
    site.be(allow("*"), deny("dynamodb:GetRecords", stream))
    assert "explicit deny" in site.refusal("GetRecords", ShardIterator=iterator)
    site.be()
    assert "not authorized" in site.refusal("GetRecords", ShardIterator=iterator)


def test_an_iterator_cannot_be_pointed_at_another_stream(site):
    iterator = site.iterator()
    other = site.call("DescribeTable", TableName="secrets")["Table"]["LatestStreamArn"]
    moved = other + iterator[iterator.index("|") :]
    site.be(allow("dynamodb:*", other), deny("dynamodb:*", site.stream))
    answer = site.call("GetRecords", ShardIterator=moved)
    assert answer["message"] == "Invalid ShardIterator"


def test_a_position_taken_from_another_page_shows_no_other_items(site):
    """A start key is a position only: the condition on keys decides which items are read."""
    own = allow(
        "dynamodb:Query",
        Condition={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["a"]}},
    )
    site.be(own)
    page = site.call(
        "Query",
        TableName="games",
        KeyConditionExpression="p = :p",
        ExpressionAttributeValues={":p": {"S": "a"}},
        ExclusiveStartKey=SECRET,
    )
    assert "secret" not in json.dumps(page.get("Items", []))
    assert "ValidationException" in page["__type"]


def test_a_token_of_a_statement_gives_no_permission_to_whoever_has_it(site):
    statement = {"Statement": "SELECT * FROM games", "Limit": 1}
    token = site.call("ExecuteStatement", **statement)["NextToken"]
    site.be(allow("*"), deny("dynamodb:PartiQLSelect"))
    assert "explicit deny" in site.refusal("ExecuteStatement", **statement, NextToken=token)
    site.be(allow("dynamodb:PartiQLSelect", "*/secrets"))
    other = {**statement, "Statement": "SELECT * FROM secrets"}
    answer = site.call("ExecuteStatement", **other, NextToken=token)
    assert "ValidationException" in answer["__type"], "a token belongs to its statement"


def test_signatures_are_compared_in_constant_time(monkeypatch):
    compared = []

    def compare(first, second):
        compared.append(second)
        return first == second

    monkeypatch.setattr(sigv4, "compare_digest", compare)
    verifier = Verifier(keys_of("AKID"), SystemClock())
    first = signed_request()
    verifier.authenticate(shared(first), "dynamodb")
    verifier.authenticate(shared(first), "dynamodb")
    assert len(compared) == 2, "with a new head, and with a known one"
    wrong = b"0" * 64
    assert refusal(verifier, shared(first, signature=wrong))[0] == "InvalidSignatureException"
    assert wrong in compared


def test_time_tells_no_more_about_a_key_than_the_errors_of_aws_do():
    """Those tell unknown keys from wrong secrets, so there is nothing to be hidden by waiting."""
    unknown = refusal(Verifier(keys_of("OTHER"), SystemClock()), signed_request())
    known = refusal(Verifier(keys_of("AKID"), SystemClock()), signed_request("wrong"))
    assert unknown[0] == "UnrecognizedClientException"
    assert known[0] == "InvalidSignatureException"


def test_no_text_of_a_client_begins_a_line_of_the_audit_trail():
    text = 'x"}\n{"eventName":"DeleteTable"}\r\u2028\x00'
    line = _line_of({"requestParameters": {"tableName": text}})
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line)["requestParameters"]["tableName"] == text


def test_the_item_that_a_foreign_position_names_is_not_even_confirmed(site):
    """Whether an item exists at a position must not be told to who may not read it."""
    site.be(allow("dynamodb:GetItem", "*/games"))
    here = site.refusal("GetItem", TableName="secrets", Key=SECRET)
    gone = site.refusal("GetItem", TableName="secrets", Key=KEY)
    absent = site.refusal("GetItem", TableName="no-such-table", Key=KEY)
    assert here == gone
    assert here.replace("secrets", "no-such-table") == absent
