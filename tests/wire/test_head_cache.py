"""Requests whose heads the server knows are answered as if it had never seen them."""

import json
import time

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hashrange.wire.http.bounds import Bounds
from tests.wire.conftest import AUTHORIZATION, post

_START = AUTHORIZATION.partition("Signature=")[0] + "Signature="
# Long enough for what was sent before to be read by itself.
_PAUSE_SECONDS = 0.02


def _known(number=0, body=b'{"A":1}'):
    """Return a request that differs from others only in its signature and its id."""
    headers = {"Authorization": f"{_START}{number:064x}", "amz_sdk_invocation_id": f"{number:036x}"}
    return post("Echo", body, **headers)


@pytest.fixture
def known(client):
    """A client whose head the server knows."""
    for number in range(3):
        client.send(_known(number))
        assert client.response()[0] == 200
    return client


def test_bodies_are_their_own(known):
    for number in range(9):
        known.send(_known(number, b'{"A":%d}' % number))
        status, _, body = known.response()
        assert (status, json.loads(body)["Request"]) == (200, {"A": number})


@pytest.mark.parametrize("cut", [1, 30, 300, -8, -1])
def test_it_may_come_in_pieces(known, cut):
    for number in range(2):
        data = _known(number)
        known.send(data[:cut])
        time.sleep(_PAUSE_SECONDS)
        known.send(data[cut:])
        assert known.response()[0] == 200
        known.send(_known(number))
        assert known.response()[0] == 200


def test_it_may_come_with_others(known):
    for number in range(2):
        known.send(_known(1) + _known(2) + _known(3)[:100])
        time.sleep(_PAUSE_SECONDS)
        known.send(_known(3)[100:])
        assert [known.response()[0] for _ in range(3)] == [200, 200, 200]
        known.send(_known(number))
        assert known.response()[0] == 200


@pytest.mark.parametrize("unknown", range(6))
def test_what_came_before_it_is_not_forgotten(known, unknown):
    for number in range(unknown):
        assert known.call(X_Number=str(number))[0] == 200
    known.send(b"P")
    time.sleep(_PAUSE_SECONDS)
    known.send(_known())
    assert known.response()[0] == 400
    assert known.is_closed()


def test_after_a_refusal_it_is_not_answered(known):
    known.send(b"nonsense\r\n\r\n")
    assert known.response()[0] == 400
    known.send(_known())
    with pytest.raises(ConnectionError):
        known.response()


def test_the_signature_is_verified_every_time(start_server, connect):
    client = connect(start_server(credentials={"AKID": "secret"}))

    def signed(secret, content):
        headers = {"X-Amz-Target": "DynamoDB_20120810.Echo"}
        request = AWSRequest("POST", "http://localhost", headers, b'{"A":"%b"}' % content)
        SigV4Auth(Credentials("AKID", secret), "dynamodb", "us-east-1").add_auth(request)
        return post(
            "Echo", request.data, **{k.replace("-", "_"): v for k, v in request.headers.items()}
        )

    statuses = []
    for number in range(30):
        secret = "wrong" if number % 3 == 2 else "secret"
        client.send(signed(secret, b"%02d" % number))
        statuses.append(client.response()[0])
    assert statuses == [200, 200, 400] * 10


def test_bodies_count_towards_what_is_held(start_server, connect):
    server = start_server(Bounds(stop_seconds=2, buffered_bytes_max=1000))
    client = connect(server)
    for _ in range(3):
        client.send(_known())
        assert client.response()[0] == 200
    assert server.server.buffered_bytes == 0
    server.server.buffered_bytes = 1000
    client.send(_known())
    assert client.response()[0] == 200, "small bodies are always taken"
    client.send(_known(body=b'{"A":"%b"}' % (b"x" * 20_000)))
    assert client.response()[0] == 503
    server.server.buffered_bytes = 0
