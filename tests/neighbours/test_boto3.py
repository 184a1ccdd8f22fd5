"""boto3 and the neighbour services, served and not served, on a real server."""

import boto3
import pytest
from botocore.exceptions import ClientError


def refusal(call):
    """Return code and status of the error that a call ends with."""
    with pytest.raises(ClientError) as caught:
        call()
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_the_caller_is_the_root_user_of_the_account_that_the_key_names(client):
    identity = client("sts", access_key="123456789012").get_caller_identity()
    assert identity["Account"] == identity["UserId"] == "123456789012"
    assert identity["Arn"] == "arn:aws:iam::123456789012:root"
    assert identity["ResponseMetadata"]["RequestId"]


def test_a_presigned_caller_identity_is_answered(client):
    sts = client("sts", access_key="123456789012")
    address = sts.generate_presigned_url("get_caller_identity", HttpMethod="GET")
    import urllib.request

    with urllib.request.urlopen(address) as answer:
        assert b"<Account>123456789012</Account>" in answer.read()
        assert answer.headers["Content-Type"] == "text/xml"


def test_no_metrics_are_listed_where_nothing_happened(client):
    cloudwatch = client("cloudwatch", access_key="111122223333")
    answer = cloudwatch.list_metrics(Namespace="AWS/DynamoDB", Dimensions=[{"Name": "TableName"}])
    assert answer["Metrics"] == []
    assert list(cloudwatch.get_paginator("list_metrics").paginate()) != []


@pytest.mark.parametrize("protocol", ["json", "query", "smithy-rpc-v2-cbor"])
def test_metrics_are_listed_in_every_protocol(url, protocol):
    session = boto3.Session("AKIDEXAMPLE", "secret", region_name="eu-west-1")
    loader = session._session.get_component("data_loader")
    description = loader.load_service_model("cloudwatch", "service-2")
    description["metadata"] |= {"protocol": protocol, "protocols": [protocol]}
    cloudwatch = session.client("cloudwatch", endpoint_url=url)
    assert cloudwatch.meta.service_model.resolved_protocol == protocol
    assert cloudwatch.list_metrics()["Metrics"] == []
    # One member too many: the check of the server, as botocore's own knows no maximum.
    many = [{"Name": f"name{number}"} for number in range(11)]
    with pytest.raises(ClientError) as caught:
        cloudwatch.list_metrics(Dimensions=many)
    error = caught.value.response["Error"]
    assert error["Code"] == "ValidationError"
    assert "at 'dimensions' failed to satisfy constraint" in error["Message"]
    assert error.get("Type") == "Sender"


@pytest.mark.parametrize(
    ("service", "call", "expected"),
    [
        ("cloudwatch", lambda c: c.list_metric_streams(), ("UnknownOperationException", 400)),
        ("kms", lambda c: c.describe_custom_key_stores(), ("UnknownOperationException", 400)),
        (
            "sts",
            lambda c: c.decode_authorization_message(EncodedMessage="x"),
            ("InvalidAction", 400),
        ),
        ("iam", lambda c: c.list_server_certificates(), ("InvalidAction", 400)),
        ("sns", lambda c: c.list_platform_applications(), ("InvalidAction", 400)),
        ("ec2", lambda c: c.describe_instances(), ("InvalidAction", 400)),
        ("s3", lambda c: c.get_bucket_acl(Bucket="bucket"), ("NotImplemented", 501)),
        ("s3", lambda c: c.get_object_acl(Bucket="bucket", Key="a/b"), ("NotImplemented", 501)),
    ],
)
def test_an_operation_that_is_not_served_is_unknown_in_the_words_of_its_service(
    client, service, call, expected
):
    assert refusal(lambda: call(client(service))) == expected


def test_dynamodb_is_not_disturbed(client):
    assert client("dynamodb").list_tables()["TableNames"] == []
    assert client("dynamodbstreams").list_streams()["Streams"] == []
