"""The least-privilege policy of a design, and policies that are wider or narrower."""

import json

import pytest

from hashrange.cli.main import main
from hashrange.toolkit.checker.policy import Account, needed_grants, policy_document
from hashrange.toolkit.checker.policy_rules import check_policy
from tests.toolkit.checker.documents import HERE, shop

ACCOUNT = Account("123456789012", "eu-west-1")
TABLE = "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop"


def statement(actions, resources, **more):
    return {"Effect": "Allow", "Action": actions, "Resource": resources, **more}


def messages(*statements, rule="policy-too-wide"):
    found = check_policy(shop(), {"Statement": list(statements)})
    return [finding.message for finding in found if finding.rule.id == rule]


def test_the_policy_names_exactly_what_the_patterns_need():
    assert needed_grants(shop()) == {
        ("GetItem", "table/Shop"),
        ("PutItem", "table/Shop"),
        ("Query", "table/Shop"),
        ("Query", "table/Shop/index/GSI1"),
    }


def test_the_policy_document_groups_resources_by_actions():
    document = policy_document(shop(), ACCOUNT)
    assert document["Version"] == "2012-10-17"
    assert [(each["Action"], each["Resource"]) for each in document["Statement"]] == [
        (["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], [TABLE]),
        (["dynamodb:Query"], [f"{TABLE}/index/GSI1"]),
    ]


def test_the_policy_of_some_patterns_is_narrower():
    document = policy_document(shop(), ACCOUNT, ["session"])
    assert [each["Action"] for each in document["Statement"]] == [["dynamodb:GetItem"]]


def test_transactions_and_unique_values_need_the_actions_behind_them():
    change = {
        "patterns.rename": {
            "operation": "update", "entities": ["user"], "update": "SET email = :email",
        },
        "patterns.close": {
            "operation": "transact_write",
            "steps": [
                {"action": "delete", "entity": "order"},
                {"action": "check", "entity": "session", "condition": "attribute_exists(PK)"},
            ],
        },
    }  # fmt: skip
    assert needed_grants(shop(change), ["rename"]) == {
        (action, "table/Shop") for action in ("UpdateItem", "GetItem", "PutItem", "DeleteItem")
    }
    assert needed_grants(shop(change), ["close"]) == {
        ("DeleteItem", "table/Shop"),
        ("ConditionCheckItem", "table/Shop"),
    }


def test_the_policy_of_a_design_is_neither_too_wide_nor_too_narrow():
    assert check_policy(shop(), policy_document(shop(), ACCOUNT)) == []


@pytest.mark.parametrize(
    ("grant", "text"),
    [
        (statement("dynamodb:*", TABLE), "dynamodb:* on table/Shop allows BatchGetItem"),
        (statement("*", "*"), "* on * allows"),
        (statement("dynamodb:Scan", TABLE), "allows Scan, never needed there"),
        (statement(["dynamodb:Get*"], [TABLE]), "allows GetRecords"),
        (statement("dynamodb:Query", f"{TABLE}/index/*"), "wider than table/Shop/index/GSI1"),
        (statement("dynamodb:GetItem", TABLE.replace("Shop", "*")), "wider than table/Shop"),
        ({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}, "everything but a list"),
    ],
)
def test_a_wider_policy_is_found(grant, text):
    assert any(text in message for message in messages(grant))


def test_denials_and_other_services_are_left_alone():
    deny = {"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"}
    assert messages(deny, statement("s3:*", "*")) == []


def test_what_is_not_allowed_is_found():
    found = messages(statement("dynamodb:GetItem", TABLE), rule="policy-too-narrow")
    assert "nothing allows Query on table/Shop/index/GSI1" in found


def test_the_command_writes_a_policy_that_check_accepts(tmp_path, capsys):
    file = tmp_path / "policy.json"
    for verb, *options in (
        ("policy", "--account", "123456789012", "--region", "eu-west-1", "--output"),
        ("check", "--policy"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["design", verb, str(HERE / "shop.toml"), *options, str(file)])
        assert stopped.value.code == 0
    assert TABLE in json.loads(file.read_text())["Statement"][0]["Resource"]
    assert "policy" not in capsys.readouterr().out
