"""Signature Version 4: AWS's words for what is wrong, and botocore as the other side of it."""

from typing import Any

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hashrange.clock import SystemClock, VirtualClock
from hashrange.errors import ClientError, InvalidSignatureException
from hashrange.wire.auth.key_rings import Credential, FixedKeys, root_grants
from hashrange.wire.auth.sigv4 import OpenDoor, Verifier
from hashrange.wire.http.messages import Head, HttpRequest

SCOPE = "AKID/20260101/us-east-1/dynamodb/aws4_request"


def keys_of(access_key):
    return FixedKeys({access_key: Credential(access_key, "secret", root_grants("000000000000"))})


def request_with(url="/", **headers):
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return HttpRequest(Head(b"POST", url.encode(), named), b"{}", True)


def caller_of(verifier, request) -> Any:
    """Return the caller of a request, with keys that are at hand."""
    return verifier.authenticate(request, "dynamodb")


def refusal(authenticator, request, service="dynamodb"):
    with pytest.raises(ClientError) as caught:
        authenticator.authenticate(request, service)
    return caught.value.code, caught.value.message


def header(credential=SCOPE, signed="host;x-amz-target", signature="0" * 64):
    return (
        f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={signed}, Signature={signature}"
    )


def signed_request(secret="secret", *, region="us-east-1", token=None, url="/", **headers):
    """Return a request signed by botocore."""
    request = AWSRequest(
        "POST",
        f"http://localhost:8000{url}",
        {"X-Amz-Target": "DynamoDB_20120810.GetItem", "X-Spaces": "a   b", **headers},
        b'{"A":1}',
    )
    SigV4Auth(Credentials("AKID", secret, token), "dynamodb", region).add_auth(request)
    return from_botocore(request.prepare(), url)


def from_botocore(prepared, url):
    headers = {}
    for name, value in prepared.headers.items():
        text = value if isinstance(value, bytes) else value.encode()
        headers[name.lower().encode()] = text
    headers[b"host"] = b"localhost:8000"
    head = Head(prepared.method.encode(), url.encode(), headers)
    return HttpRequest(head, b'{"A":1}', True)


@pytest.fixture
def verifier():
    return Verifier(
        keys_of("AKID"),
        SystemClock(),
    )


@pytest.mark.parametrize("authorization", [None, "AWS4", "X", "Bearer abc", ""])
def test_without_a_signature_the_token_is_missing(authorization):
    headers = {} if authorization is None else {"authorization": authorization}
    assert refusal(OpenDoor(), request_with(**headers)) == (
        "MissingAuthenticationTokenException",
        "Request is missing Authentication Token",
    )


def test_query_parameters_without_an_algorithm_are_no_signature():
    url = "/?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c&X-Amz-Date=d"
    assert refusal(OpenDoor(), request_with(url))[0] == "MissingAuthenticationTokenException"


def test_two_signatures_are_one_too_many():
    assert refusal(OpenDoor(), request_with("/?X-Amz-Algorithm", authorization="X")) == (
        "InvalidSignatureException",
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
    )


def test_all_missing_parts_of_the_header_are_named():
    assert refusal(OpenDoor(), request_with(authorization="AWS4-")) == (
        "IncompleteSignatureException",
        "Authorization header requires 'Credential' parameter. "
        "Authorization header requires 'Signature' parameter. "
        "Authorization header requires 'SignedHeaders' parameter. "
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
        "Authorization=AWS4-",
    )


@pytest.mark.parametrize("separator", [" ", ",", ", "])
def test_parameters_are_found_whatever_separates_them(separator):
    text = f"AWS4- Signature=b{separator}Credential=a"
    assert refusal(OpenDoor(), request_with(authorization=text, date="a"))[1] == (
        f"Authorization header requires 'SignedHeaders' parameter. Authorization={text}"
    )


def test_all_missing_query_parameters_are_named():
    assert refusal(OpenDoor(), request_with("/?X-Amz-Algorithm"))[1] == (
        "AWS query-string parameters must include 'X-Amz-Algorithm'. "
        "AWS query-string parameters must include 'X-Amz-Credential'. "
        "AWS query-string parameters must include 'X-Amz-Signature'. "
        "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
        "AWS query-string parameters must include 'X-Amz-Date'. "
        "Re-examine the query-string parameters."
    )


@pytest.mark.parametrize(
    ("credential", "code", "text"),
    [
        ("a/b", "IncompleteSignatureException", "exactly 5 slash-delimited elements"),
        ("a/20260101/us%east/dynamodb/aws4_request", "InvalidSignatureException", "valid region"),
        ("a/20260101/us-east-1/s3/aws4_request", "InvalidSignatureException", "correct service"),
        ("a/20260101/us-east-1/dynamodb/x", "InvalidSignatureException", "valid terminator"),
    ],
)
def test_a_malformed_credential_is_refused(credential, code, text):
    request = request_with(authorization=header(credential), x_amz_date="20260101T000000Z")
    refused_code, message = refusal(OpenDoor(), request)
    assert refused_code == code
    assert text in message


def test_a_signature_is_good_for_one_service(verifier):
    request = signed_request()
    for authenticator in (OpenDoor(), verifier):
        # Before and after the credential is in the caches.
        for _ in range(2):
            assert authenticator.authenticate(request, "dynamodb").signing_name == "dynamodb"
            with pytest.raises(InvalidSignatureException) as caught:
                authenticator.authenticate(request, "lambda")
            text = "Credential should be scoped to correct service: 'lambda'. "
            assert caught.value.message == text


def test_the_open_door_takes_any_key_and_tells_worlds_apart():
    door = OpenDoor()
    for key, account in (("AKID", "000000000000"), ("123456789012", "123456789012")):
        credential = f"{key}/20260101/eu-west-1/dynamodb/aws4_request"
        request = request_with(authorization=header(credential), x_amz_date="20260101T000000Z")
        for _ in range(2):
            caller = door.authenticate(request, "dynamodb")
            assert caller.world == (account, "eu-west-1")


def test_the_verifier_accepts_what_botocore_signs(verifier):
    for _ in range(2):
        caller = verifier.authenticate(signed_request(), "dynamodb")
        assert (caller.access_key, caller.region) == ("AKID", "us-east-1")


def test_the_verifier_accepts_a_signed_query_string(verifier):
    assert (
        verifier.authenticate(signed_request(url="/?b=2&a=%20x&c"), "dynamodb").region
        == "us-east-1"
    )


def test_the_verifier_accepts_a_presigned_request(verifier):
    request = AWSRequest("POST", "http://localhost:8000/")
    request.headers["X-Amz-Target"] = "DynamoDB_20120810.GetItem"
    SigV4QueryAuth(Credentials("AKID", "secret"), "dynamodb", "us-east-1").add_auth(request)
    prepared = request.prepare()
    url = prepared.url.removeprefix("http://localhost:8000")
    presigned = from_botocore(prepared, url)
    presigned.body = b""
    assert caller_of(verifier, presigned).access_key == "AKID"
    presigned.body = b"{}"
    assert refusal(verifier, presigned)[0] == "InvalidSignatureException"


def test_an_account_may_be_given_to_a_key():
    credential = Credential("AKID", "secret", root_grants("123456789012"))
    verifier = Verifier(FixedKeys({"AKID": credential}), SystemClock())
    assert caller_of(verifier, signed_request()).account == "123456789012"


def test_a_wrong_secret_is_refused(verifier):
    code, message = refusal(verifier, signed_request("wrong"))
    assert code == "InvalidSignatureException"
    assert message.startswith("The request signature we calculated does not match the signature")


@pytest.mark.parametrize("change", ["body", "target", "url", "method"])
def test_nothing_that_is_signed_may_be_changed(verifier, change):
    request = signed_request()
    if change == "target":
        request.headers[b"x-amz-target"] = b"DynamoDB_20120810.DeleteTable"
    elif change == "body":
        request.body = b"{}"
    else:
        setattr(request.head, change, {"url": b"/?x", "method": b"GET"}[change])
    assert refusal(verifier, request)[0] == "InvalidSignatureException"


def test_the_host_and_the_target_have_to_be_signed(verifier):
    for signed in ("x-amz-target", "host"):
        request = signed_request()
        given = request.headers[b"authorization"]
        start, _, _ = given.partition(b"SignedHeaders=")
        request.headers[b"authorization"] = start + f"SignedHeaders={signed}, Signature=00".encode()
        code, message = refusal(verifier, request)
        assert code == "InvalidSignatureException"
        assert "must be a 'SignedHeader'" in message


def test_an_unknown_key_is_refused():
    verifier = Verifier(
        keys_of("OTHER"),
        SystemClock(),
    )
    assert refusal(verifier, signed_request()) == (
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
    )


def test_a_session_token_has_to_be_the_right_one():
    credential = Credential("AKID", "secret", root_grants("000000000000"), token="token")
    verifier = Verifier(FixedKeys({"AKID": credential}), SystemClock())
    assert caller_of(verifier, signed_request(token="token")).access_key == "AKID"
    for token in (None, "other"):
        code, _ = refusal(verifier, signed_request(token=token))
        assert code == "UnrecognizedClientException"


def test_an_expired_signature_is_refused_in_aws_words():
    clock = VirtualClock(1_767_226_561.0)  # 2026-01-01T00:16:01Z
    verifier = Verifier(keys_of("AKID"), clock)
    request = request_with(authorization=header(), x_amz_date="20260101T000000Z")
    assert refusal(verifier, request) == (
        "InvalidSignatureException",
        "Signature expired: 20260101T000000Z is now earlier than 20260101T000101Z "
        "(20260101T001601Z - 15 min.)",
    )
    clock.advance(-61)
    assert "does not match" in refusal(verifier, request)[1]


def test_a_signature_from_the_future_is_refused_in_aws_words():
    verifier = Verifier(
        keys_of("AKID"),
        VirtualClock(1_767_225_600.0 - 1000),
    )
    request = request_with(authorization=header(), x_amz_date="20260101T000000Z")
    assert refusal(verifier, request) == (
        "InvalidSignatureException",
        "Signature not yet current: 20260101T000000Z is still later than 20251231T235820Z "
        "(20251231T234320Z + 15 min.)",
    )


def test_the_date_of_the_scope_has_to_be_that_of_the_request():
    clock = VirtualClock(1_767_312_000.0)  # 2026-01-02T00:00:00Z
    verifier = Verifier(keys_of("AKID"), clock)
    request = request_with(authorization=header(), x_amz_date="20260102T000000Z")
    code, message = refusal(verifier, request)
    assert code == "InvalidSignatureException"
    assert "'20260101' != '20260102', from '20260102T000000Z'" in message


@pytest.mark.parametrize(
    "credential", ["a/b", "a/20250101/us-east-1/dynamodb/aws4_request", "a/b/us%east/s3/x"]
)
def test_the_date_is_looked_at_before_the_scope(credential):
    clock = VirtualClock(1_767_226_561.0)  # 2026-01-01T00:16:01Z
    verifier = Verifier(keys_of("AKID"), clock)
    request = request_with(authorization=header(credential), x_amz_date="20260101T000000Z")
    assert refusal(verifier, request)[1].startswith("Signature expired: 20260101T000000Z")
    request = request_with(authorization=header(credential), x_amz_date="yesterday")
    assert refusal(verifier, request)[1].startswith("Date must be in ISO-8601 'basic format'")


def test_a_date_that_is_none_is_refused(verifier):
    request = request_with(authorization=header(), x_amz_date="yesterday")
    assert refusal(verifier, request)[0] == "IncompleteSignatureException"


class ChangingKeys:
    """A key ring whose version and keys can be set."""

    is_current = True

    def __init__(self):
        self.version = 1
        self.keys = keys_of("AKID")

    def freshness(self):
        return (lambda: self.version), self.version

    def find(self, access_key, token):
        return self.keys.find(access_key, token)


def shared(request, body=None, signature=None):
    """Return another request with the head of a request, as `head_cache` makes them."""
    own = request.headers[b"authorization"][-64:]
    content = request.body if body is None else body
    return HttpRequest(request.head, content, keep_alive=True, signature=signature or own)


def test_requests_that_share_a_head_are_verified_each_by_itself():
    keys: Any = ChangingKeys()
    verifier = Verifier(keys, SystemClock())
    first = signed_request()
    for _ in range(3):
        assert caller_of(verifier, shared(first)).access_key == "AKID"
    assert first.head.signing is not None
    for wrong in (shared(first, body=b"{} "), shared(first, signature=b"0" * 64)):
        assert refusal(verifier, wrong)[0] == "InvalidSignatureException"
    code, message = refusal(verifier, shared(first), "lambda")
    assert (code, "correct service" in message) == ("InvalidSignatureException", True)
    other = Verifier(keys_of("OTHER"), SystemClock())
    assert refusal(other, shared(first))[0] == "UnrecognizedClientException"
    keys.version, keys.keys = 2, keys_of("OTHER")
    assert refusal(verifier, shared(first))[0] == "UnrecognizedClientException"


def test_a_shared_head_grows_old():
    clock = VirtualClock(SystemClock().now())
    verifier = Verifier(keys_of("AKID"), clock)
    first = signed_request()
    verifier.authenticate(shared(first), "dynamodb")
    clock.advance(16 * 60)
    assert refusal(verifier, shared(first))[1].startswith("Signature expired")


def test_a_session_ends_also_for_a_shared_head():
    clock = VirtualClock(SystemClock().now())
    grants = root_grants("000000000000")
    ends = clock.now() + 60
    credential = Credential("AKID", "secret", grants, token="token", expires_at=ends)
    verifier = Verifier(FixedKeys({"AKID": credential}), clock)
    first = signed_request(token="token")
    assert caller_of(verifier, shared(first)).access_key == "AKID"
    clock.advance(61)
    assert refusal(verifier, shared(first)) == (
        "ExpiredTokenException",
        "The security token included in the request is expired",
    )
