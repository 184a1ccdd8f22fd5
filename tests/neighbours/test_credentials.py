"""Signatures of requests to neighbours on a server that verifies them."""

import urllib.error
import urllib.request

import pytest
from botocore.exceptions import ClientError

from tests.harness import server

CREDENTIALS = """
[AKIDEXAMPLE]
secret = "secret"
account = "111122223333"
"""


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A server that knows one key."""
    path = tmp_path_factory.mktemp("credentials") / "keys.toml"
    path.write_text(CREDENTIALS)
    with server.hashrange("--credentials", str(path)) as url:
        yield url


def refusal(call):
    with pytest.raises(ClientError) as caught:
        call()
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_signed_caller_has_the_account_of_its_key(client, strict):
    identity = client("sts", endpoint_url=strict).get_caller_identity()
    assert identity["Arn"] == "arn:aws:iam::111122223333:root"


def test_a_metric_request_is_verified_in_its_own_scope(client, strict):
    assert client("cloudwatch", endpoint_url=strict).list_metrics()["Metrics"] == []


@pytest.mark.parametrize(
    ("service", "call", "unknown", "mismatch"),
    [
        (
            "sts",
            "get_caller_identity",
            ("InvalidClientTokenId", 403),
            ("SignatureDoesNotMatch", 403),
        ),
        # CloudWatch keeps the codes of its query protocol in JSON.
        (
            "cloudwatch",
            "list_metrics",
            ("InvalidClientTokenId", 400),
            ("SignatureDoesNotMatch", 400),
        ),
    ],
)
def test_wrong_keys_are_refused_in_the_words_of_the_service(
    client, strict, service, call, unknown, mismatch
):
    stranger = client(service, "AKIDOTHER", endpoint_url=strict)
    assert refusal(getattr(stranger, call)) == unknown
    forger = client(service, secret="guess", endpoint_url=strict)
    assert refusal(getattr(forger, call)) == mismatch


def test_a_presigned_request_is_verified(client, strict):
    address = client("sts", endpoint_url=strict).generate_presigned_url(
        "get_caller_identity", HttpMethod="GET"
    )
    with urllib.request.urlopen(address) as answer:
        assert b"<Account>111122223333</Account>" in answer.read()
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(address[:-1] + ("0" if address[-1] != "0" else "1"))
    with caught.value as refused:
        assert refused.code == 403
        assert b"<Code>SignatureDoesNotMatch</Code>" in refused.read()


def test_a_signature_for_one_service_does_not_open_another(client, strict):
    sts = client("sts", endpoint_url=strict)
    sts.get_caller_identity()
    sts.meta.events.register("choose-signer.sts.*", lambda **_: "v4")
    sts._request_signer._signing_name = "dynamodb"
    assert refusal(sts.get_caller_identity) == ("SignatureDoesNotMatch", 403)
    dynamodb = client("dynamodb", endpoint_url=strict)
    dynamodb._request_signer._signing_name = "sts"
    code, _ = refusal(dynamodb.list_tables)
    assert code == "InvalidSignatureException"
