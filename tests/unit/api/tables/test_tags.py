"""Tags: on creation, added, replaced, removed, listed by pages."""

from typing import Any

import pytest

from tests.harness.tables import Tables, definitions, key_schema

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"


def tags(**values: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in values.items()]


def test_tags_are_set_on_creation_added_replaced_and_removed() -> None:
    tables = Tables()
    arn = tables.create(Tags=tags(env="test"))["TableArn"]
    assert tables.call("TagResource", ResourceArn=arn, Tags=tags(env="live", team="x")) == {}
    assert tables.call("ListTagsOfResource", ResourceArn=arn) == {
        "Tags": tags(env="live", team="x")
    }
    assert tables.call("UntagResource", ResourceArn=arn, TagKeys=["env", "absent"]) == {}
    assert tables.call("ListTagsOfResource", ResourceArn=arn) == {"Tags": tags(team="x")}


def test_tags_are_announced_because_policies_may_ask_for_them() -> None:
    tables = Tables()
    arn = tables.create()["TableArn"]
    counter = tables.engine.counter()
    tables.call("TagResource", ResourceArn=arn, Tags=tags(a="b"))
    assert tables.engine.counter() != counter


def test_tags_are_listed_ten_at_a_time() -> None:
    tables = Tables()
    all_tags = tags(**{f"key{number:02}": "x" for number in range(25)})
    arn = tables.create(Tags=all_tags)["TableArn"]
    listed: list[dict[str, str]] = []
    token: dict[str, str] = {}
    while True:
        page = tables.call("ListTagsOfResource", ResourceArn=arn, **token)
        assert len(page["Tags"]) <= 10
        listed += page["Tags"]
        if "NextToken" not in page:
            break
        token = {"NextToken": page["NextToken"]}
    assert listed == all_tags


def test_a_table_has_at_most_fifty_tags() -> None:
    tables = Tables()
    arn = tables.create(Tags=tags(**{f"key{number}": "x" for number in range(50)}))["TableArn"]
    refused = tables.refusal("TagResource", ResourceArn=arn, Tags=tags(more="x"))
    assert refused.startswith("ValidationException")
    tables.call("TagResource", ResourceArn=arn, Tags=tags(key1="y"))


@pytest.mark.parametrize("text", ["a*b", "<", "tab\t", "a,b", "🙂"])
def test_tags_have_no_forbidden_characters(text: str) -> None:
    tables = Tables()
    arn = tables.create(Tags=tags(env="test"))["TableArn"]
    for wrong in ({"Key": text, "Value": "x"}, {"Key": "x", "Value": text}):
        refused = tables.refusal("TagResource", ResourceArn=arn, Tags=[wrong])
        assert refused.startswith("ValidationException")
        refused = tables.refusal(
            "CreateTable",
            TableName="other",
            AttributeDefinitions=definitions("a"),
            KeySchema=key_schema("a"),
            BillingMode="PAY_PER_REQUEST",
            Tags=[wrong],
        )
        assert refused.startswith("ValidationException")
    refused = tables.refusal("UntagResource", ResourceArn=arn, TagKeys=[text])
    assert refused.startswith("ValidationException")
    assert tables.call("ListTagsOfResource", ResourceArn=arn) == {"Tags": tags(env="test")}


def test_tags_have_letters_numbers_white_space_and_some_signs() -> None:
    tables = Tables()
    arn = tables.create()["TableArn"]
    tag = {"Key": "Größe 日本 4", "Value": "+-=._:/@"}
    tables.call("TagResource", ResourceArn=arn, Tags=[tag])
    assert tables.call("ListTagsOfResource", ResourceArn=arn) == {"Tags": [tag]}


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "a:b:c:d:e:f/g",
        ARN + "ab",
        ARN + "a*c",
        ARN + "abc/index/def",
        ARN.replace("000000000000", "123") + "abc",
        ARN.replace("dynamodb", "s3") + "abc",
    ],
)
def test_a_malformed_arn_is_refused(arn: str) -> None:
    tables = Tables()
    message = f"ValidationException: Invalid TableArn: Invalid ResourceArn provided as input {arn}"
    assert tables.refusal("TagResource", ResourceArn=arn, Tags=tags(a="b")) == message
    assert tables.refusal("UntagResource", ResourceArn=arn, TagKeys=["a"]) == message
    assert tables.refusal("ListTagsOfResource", ResourceArn=arn) == message


NULL = "1 validation error detected: Value null at '{}' failed to satisfy constraint: "


@pytest.mark.parametrize(
    ("operation", "request_members", "message"),
    [
        ("TagResource", {}, "ValidationException: Invalid TableArn"),
        (
            "TagResource",
            {"ResourceArn": "not-a-valid-arn", "Tags": tags(a="b")},
            "ValidationException: Invalid TableArn: Invalid ResourceArn provided as input "
            "not-a-valid-arn",
        ),
        (
            "TagResource",
            {"ResourceArn": ARN + "absent"},
            f"ValidationException: {NULL.format('tags')}Member must not be null",
        ),
        (
            "TagResource",
            {"ResourceArn": ARN + "absent", "Tags": []},
            "ValidationException: Atleast one Tag needs to be provided as Input.",
        ),
        (
            "TagResource",
            {"ResourceArn": ARN + "absent", "Tags": tags(a="b")},
            f"ResourceNotFoundException: Requested resource not found: ResourcArn: {ARN}absent "
            "not found",
        ),
        (
            "UntagResource",
            {"ResourceArn": ARN + "absent", "TagKeys": []},
            "ValidationException: Atleast one Tag Key needs to be provided as Input.",
        ),
        (
            "UntagResource",
            {"ResourceArn": ARN + "absent", "TagKeys": ["a"]},
            "ResourceNotFoundException: Requested resource not found",
        ),
        (
            "ListTagsOfResource",
            {"ResourceArn": ARN.replace("0000", "1111") + "absent"},
            "AccessDeniedException: User: arn:aws:iam::000000000000:root is not authorized to "
            "perform: dynamodb:ListTagsOfResource on resource: "
            f"{ARN.replace('0000', '1111')}absent",
        ),
    ],
)
def test_what_is_wrong_with_a_request_about_tags(
    operation: str, request_members: dict[str, Any], message: str
) -> None:
    assert Tables().refusal(operation, **request_members) == message
