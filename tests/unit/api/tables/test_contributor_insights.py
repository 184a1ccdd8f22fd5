"""Contributor insights are set by table and index, and say which rules they have."""

import pytest

from hashrange.testing import local

INDEXED = {
    "TableName": "Music",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in ("a", "b")],
    "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "ByB",
            "KeySchema": [
                {"AttributeName": "b", "KeyType": "HASH"},
                {"AttributeName": "a", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


@pytest.fixture
def client():
    with local() as database:
        client = database.client()
        client.create_table(**INDEXED)
        yield client


def update(client, action="ENABLE", **more):
    return client.update_contributor_insights(
        TableName="Music", ContributorInsightsAction=action, **more
    )


def kinds(client, **more):
    found = client.describe_contributor_insights(TableName="Music", **more)
    return [name.split("-")[1] for name in found.get("ContributorInsightsRuleList", [])]


def test_a_table_that_was_never_set_is_disabled(client):
    found = client.describe_contributor_insights(TableName="Music")
    found.pop("ResponseMetadata")
    assert found == {"TableName": "Music", "ContributorInsightsStatus": "DISABLED"}
    assert client.list_contributor_insights()["ContributorInsightsSummaries"] == []


def test_rules_follow_from_the_keys_and_the_mode(client):
    assert update(client)["ContributorInsightsStatus"] == "ENABLING"
    assert kinds(client) == ["PKC", "PKT"]
    update(client, IndexName="ByB")
    assert kinds(client, IndexName="ByB") == ["PKC", "PKT", "SKC", "SKT"]
    before = client.describe_contributor_insights(TableName="Music", IndexName="ByB")
    update(client, IndexName="ByB", ContributorInsightsMode="THROTTLED_KEYS")
    assert kinds(client, IndexName="ByB") == ["PKT", "SKT"]
    after = client.describe_contributor_insights(TableName="Music", IndexName="ByB")
    rules = after["ContributorInsightsRuleList"]
    assert set(rules) < set(before["ContributorInsightsRuleList"])
    assert rules[0].startswith("DynamoDBContributorInsights-PKT-Music-ByB-")


def test_enabling_without_a_mode_goes_back_to_the_default(client):
    update(client, ContributorInsightsMode="THROTTLED_KEYS")
    assert update(client)["ContributorInsightsMode"] == "ACCESSED_AND_THROTTLED_KEYS"


def test_what_is_disabled_is_not_listed(client):
    update(client)
    update(client, IndexName="ByB")
    assert update(client, "DISABLE")["ContributorInsightsStatus"] == "DISABLING"
    (summary,) = client.list_contributor_insights()["ContributorInsightsSummaries"]
    assert (summary["IndexName"], summary["ContributorInsightsStatus"]) == ("ByB", "ENABLED")
    found = client.list_contributor_insights(TableName="Music", MaxResults=1)
    assert len(found["ContributorInsightsSummaries"]) == 1
    assert "LastUpdateDateTime" in client.describe_contributor_insights(TableName="Music")


def test_other_tables_and_indexes_are_not_found(client):
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        update(client, IndexName="Other")
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_contributor_insights(TableName="Missing")
