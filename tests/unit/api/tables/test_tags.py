"""Tags: on creation, added, replaced, removed, listed by pages."""

from typing import Any

import pytest

from tests.harness.tables import Tables

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


def test_tags_do_not_disturb_the_data_path() -> None:
    tables = Tables()
    arn = tables.create()["TableArn"]
    counter = tables.engine.counter()
    tables.call("TagResource", ResourceArn=arn, Tags=tags(a="b"))
    assert tables.engine.counter() == counter


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
    assert refused.startswith("LimitExceededException")
    tables.call("TagResource", ResourceArn=arn, Tags=tags(key1="y"))


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
