"""The rules of the differential test excuse what they know, and nothing else."""

import itertools

import pytest

from tests.differential import explained
from tests.differential.comparison import Answer
from tests.differential.requests import READS
from tests.harness.endpoint import Reply

OPERATIONS = (*sorted(READS), "PutItem", "UpdateItem", "TransactWriteItems", "ExecuteStatement")
BODY = {"TableName": "table", "Statement": 'SELECT * FROM "table" WHERE p = 1'}
REPLIES = (
    Reply(200, "", "", {}),
    Reply(400, "ValidationException", "Nobody ever said this", {}),
    Reply(400, "ValidationException", "Nor that", {}),
    Reply(400, "TransactionCanceledException", "Nor such a thing [None]", {}),
    Reply(500, "InternalServerError", "Nor this", {}),
)


def answer(reply):
    return Answer(reply, [reply.body] if reply.status == 200 else [])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_unknown_differences_are_not_explained(operation):
    for local, ours in itertools.permutations(REPLIES, 2):
        if local.status == 500 and ours.status == 400:
            continue  # DynamoDB Local breaks where AWS refuses
        case = explained.Case(operation, BODY, answer(local), answer(ours))
        rule = explained.explain(case)
        assert rule is None, (rule.name, local, ours)


def test_every_rule_tells_its_reason_and_evidence_once():
    rules = (*explained.ADJUSTMENTS, *explained.RULES)
    assert all(rule.reason and rule.evidence for rule in rules)
    assert len({rule.name for rule in rules}) == len(rules)
