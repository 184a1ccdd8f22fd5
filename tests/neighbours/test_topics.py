"""SNS topics and subscriptions through boto3."""

import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def sns(dynamodb_server):
    return dynamodb_server.client("sns")


def test_topics_have_attributes_and_tags(sns):
    arn = sns.create_topic(Name="news", Tags=[{"Key": "a", "Value": "1"}])["TopicArn"]
    assert sns.create_topic(Name="news")["TopicArn"] == arn
    sns.set_topic_attributes(TopicArn=arn, AttributeName="DisplayName", AttributeValue="News")
    assert sns.get_topic_attributes(TopicArn=arn)["Attributes"]["DisplayName"] == "News"
    assert [topic["TopicArn"] for topic in sns.list_topics()["Topics"]] == [arn]
    sns.tag_resource(ResourceArn=arn, Tags=[{"Key": "b", "Value": "2"}])
    sns.untag_resource(ResourceArn=arn, TagKeys=["a"])
    assert sns.list_tags_for_resource(ResourceArn=arn)["Tags"] == [{"Key": "b", "Value": "2"}]
    sns.delete_topic(TopicArn=arn)
    assert sns.list_topics()["Topics"] == []
    with pytest.raises(ClientError) as caught:
        sns.get_topic_attributes(TopicArn=arn)
    assert caught.value.response["Error"]["Code"] == "NotFound"


def test_subscriptions_are_listed_changed_and_ended(sns):
    arn = sns.create_topic(Name="news")["TopicArn"]
    function = "arn:aws:lambda:us-east-1:000000000000:function:f"
    made = sns.subscribe(
        TopicArn=arn, Protocol="lambda", Endpoint=function, ReturnSubscriptionArn=True
    )["SubscriptionArn"]
    sns.set_subscription_attributes(
        SubscriptionArn=made, AttributeName="FilterPolicy", AttributeValue='{"kind": ["a"]}'
    )
    attributes = sns.get_subscription_attributes(SubscriptionArn=made)["Attributes"]
    assert attributes["FilterPolicy"] == '{"kind": ["a"]}'
    assert [each["Endpoint"] for each in sns.list_subscriptions()["Subscriptions"]] == [function]
    listed = sns.list_subscriptions_by_topic(TopicArn=arn)["Subscriptions"]
    assert [each["SubscriptionArn"] for each in listed] == [made]
    sns.unsubscribe(SubscriptionArn=made)
    assert sns.list_subscriptions()["Subscriptions"] == []


def test_messages_are_published_one_by_one_and_in_batches(sns):
    arn = sns.create_topic(Name="news")["TopicArn"]
    assert sns.publish(TopicArn=arn, Message="one", Subject="s")["MessageId"]
    entries = [{"Id": "1", "Message": "a"}, {"Id": "2", "Message": "b"}]
    done = sns.publish_batch(TopicArn=arn, PublishBatchRequestEntries=entries)
    assert [each["Id"] for each in done["Successful"]] == ["1", "2"]
    with pytest.raises(ClientError):
        sns.publish(TopicArn=arn + "x", Message="lost")


@pytest.mark.parametrize(
    "request_of",
    [
        lambda arn: {"TopicArn": arn, "Protocol": "email", "Endpoint": "a@example.com"},
        lambda arn: {"TopicArn": arn, "Protocol": "http", "Endpoint": "https://example.com"},
        lambda arn: {"TopicArn": arn + "x", "Protocol": "http", "Endpoint": "http://127.0.0.1:1/"},
    ],
)
def test_what_cannot_be_subscribed_is_refused(sns, request_of):
    arn = sns.create_topic(Name="news")["TopicArn"]
    with pytest.raises(ClientError):
        sns.subscribe(**request_of(arn))
