"""What a well-meaning client sees: routes, headers, encodings, pipelining."""

import gzip
import json
import re
import zlib

import pytest

from tests.wire.conftest import eventually, post


def test_a_call_is_answered_with_checksum_and_request_id(client):
    status, headers, body = client.call(body=b'{"A":1}')
    assert status == 200
    assert json.loads(body) == {"Request": {"A": 1}, "World": ["000000000000", "eu-west-1"]}
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert headers["x-amz-crc32"] == str(zlib.crc32(body))
    assert re.fullmatch("[0-9A-Z]{52}", headers["x-amzn-requestid"])
    assert headers["connection"] == "keep-alive"


def test_every_request_has_its_own_id(client):
    assert len({client.call()[1]["x-amzn-requestid"] for _ in range(10)}) == 10


def test_clients_that_come_and_go_are_all_answered(start_server, connect):
    server = start_server()
    one = connect(server)
    assert one.call()[0] == 200
    two = connect(server)
    assert [two.call()[0], one.call()[0]] == [200, 200]
    two.close()
    eventually(lambda: server.server.connection_count == 1)
    assert one.call()[0] == 200


def test_an_access_key_of_twelve_digits_is_the_account(client):
    authorization = (
        "AWS4-HMAC-SHA256 Credential=123456789012/20260101/local/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=00"
    )
    body = client.call(Authorization=authorization)[2]
    assert json.loads(body)["World"] == ["123456789012", "local"]


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        ("application/x-amz-json-1.0", "application/x-amz-json-1.0"),
        ("application/x-amz-json-1.1", "application/x-amz-json-1.1"),
        ("application/json; charset=utf-8", "application/json"),
    ],
)
def test_the_content_type_is_mirrored(client, given, answered):
    assert client.call(Content_Type=given)[1]["content-type"] == answered


@pytest.mark.parametrize("given", [None, "text/plain", "application/jsonasdf"])
def test_a_body_that_is_not_called_json_is_not_found(client, given):
    status, headers, body = client.call(Content_Type=given)
    assert (status, body) == (404, b"<UnknownOperationException/>\n")
    assert headers["x-amz-crc32"] == "3552371480"


def test_pipelined_requests_are_answered_in_order(client):
    client.send(b"".join(post("Echo", b'{"N":%d}' % n) for n in range(100)))
    answers = [json.loads(client.response()[2])["Request"]["N"] for _ in range(100)]
    assert answers == list(range(100))


def test_a_quick_request_does_not_overtake_a_slow_one(start_server, connect):
    server = start_server()
    client = connect(server)
    client.send(post("Wait", b'{"N":1}') + post("Echo", b'{"N":2}'))
    eventually(lambda: server.waiting)
    server.open_gate()
    assert json.loads(client.response()[2]) == {"Waited": {"N": 1}}
    assert json.loads(client.response()[2])["Request"] == {"N": 2}


def test_a_request_may_arrive_byte_by_byte(client):
    for byte in post("Echo", b'{"A":1}'):
        client.send(bytes([byte]))
    assert client.response()[0] == 200


def test_a_chunked_body_is_put_together(client):
    head = post("Echo", b"", Content_Length=None, Transfer_Encoding="chunked")
    client.send(head + b'4\r\n{"A"\r\n3\r\n:1}\r\n0\r\n\r\n')
    assert json.loads(client.response()[2])["Request"] == {"A": 1}


def test_what_follows_a_chunked_body_is_no_header(client):
    head = post("Echo", b"", Content_Length=None, Transfer_Encoding="chunked")
    client.send(head + b"2\r\n{}\r\n0\r\nOrigin: http://a.example\r\n\r\n" + post("Echo"))
    for _ in range(2):
        status, headers, _ = client.response()
        assert status == 200
        assert "access-control-allow-origin" not in {name.lower() for name in headers}


def test_a_client_that_expects_it_is_told_to_continue(client):
    client.send(post("Echo", b"", Content_Length="2", Expect="100-continue"))
    assert client.response()[0] == 100
    client.send(b"{}")
    assert client.response()[0] == 200


def test_the_go_ahead_waits_for_the_answers_before_it(start_server, connect):
    server = start_server()
    client = connect(server)
    client.send(post("Wait") + post("Echo", b"", Content_Length="2", Expect="100-continue"))
    eventually(lambda: server.waiting)
    server.open_gate()
    assert [client.response()[0] for _ in range(2)] == [200, 100]
    client.send(b"{}")
    assert client.response()[0] == 200


def test_a_gzip_body_is_inflated(client):
    body = gzip.compress(b'{"A":1}')
    assert json.loads(client.call(body=body, Content_Encoding="gzip")[2])["Request"] == {"A": 1}


@pytest.mark.parametrize("coding", ["gzip", "X-GZIP"])
def test_members_of_a_gzip_body_are_joined(client, coding):
    body = gzip.compress(b'{"A"') + gzip.compress(b":") + gzip.compress(b"1}")
    assert json.loads(client.call(body=body, Content_Encoding=coding)[2])["Request"] == {"A": 1}


def test_a_deflated_body_is_inflated(client):
    body = zlib.compress(b'{"A":1}')
    assert json.loads(client.call(body=body, Content_Encoding="deflate")[2])["Request"] == {"A": 1}


def test_an_identical_body_is_left_as_it_is(client):
    assert client.call(body=b'{"A":1}', Content_Encoding="identity")[0] == 200


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("br", b"{}"),
        ("gzip, gzip", b"{}"),
        ("gzip", b"{}"),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-1]),
        ("gzip", gzip.compress(b"{}", mtime=0) + b"rest"),
        ("gzip", b""),
        ("deflate", gzip.compress(b"{}", mtime=0)),
        ("deflate", zlib.compress(b"{}") + b"rest"),
    ],
    ids=[
        "unknown",
        "several",
        "plain",
        "cut short",
        "followed by something",
        "empty",
        "gzip as deflate",
        "deflate followed by something",
    ],
)
def test_a_body_that_cannot_be_decoded_is_an_internal_failure(client, coding, body):
    status, _, answer = client.call(body=body, Content_Encoding=coding)
    assert status == 500
    assert json.loads(answer) == {"__type": "com.amazon.coral.service#InternalFailure"}
    assert client.call()[0] == 200


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("br, deflate, gzip", "gzip"),
        ("gzip;q=0.1, deflate;q=0.2", "deflate"),
        ("GZIP ; q=1.0", "gzip"),
        ("gzip;q=0, deflate;q=0", None),
        ("gzip;q=much", None),
        ("identity", None),
        ("br", None),
        ("*", None),
        ("", None),
        (None, None),
    ],
)
def test_a_large_answer_is_compressed_for_who_accepts_it(client, accepted, coding):
    status, headers, body = client.call("Large", b'{"Bytes":5000}', Accept_Encoding=accepted)
    assert (status, headers.get("content-encoding")) == (200, coding)
    assert headers["x-amz-crc32"] == str(zlib.crc32(body))
    assert (len(body) < 5000) == (coding is not None)
    plain = zlib.decompress(body, 32 + zlib.MAX_WBITS) if coding else body
    assert json.loads(plain) == {"Large": "x" * 5000}


def test_an_answer_of_four_kilobytes_is_not_compressed(client):
    around = len(b'{"Large":""}')
    for size, coding in ((4096, None), (4097, "gzip")):
        request = b'{"Bytes":%d}' % (size - around)
        headers = client.call("Large", request, Accept_Encoding="gzip")[1]
        assert headers.get("content-encoding") == coding


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_root_says_healthy_as_aws_does(client, method):
    client.send(f"{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    status, headers, body = client.response(bodiless=method == "HEAD")
    assert status == 200
    assert headers["content-length"] == "42"
    assert headers["x-amz-crc32"] == "3128867991"
    if method == "GET":
        assert body == b"healthy: dynamodb.us-east-1.amazonaws.com "


@pytest.mark.parametrize("path", ["/healthz", "/healthz/engine", "/readyz"])
def test_health_routes_answer(client, path):
    client.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert client.response()[0] == 200


@pytest.mark.parametrize("line", ["PUT /", "DELETE /", "OPTIONS /", "GET /nowhere", "POST /x"])
def test_other_routes_are_not_found(client, line):
    client.send(f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
    assert client.response()[0] == 404


def test_an_http_1_0_client_is_answered_and_hung_up_on(client):
    client.send(post("Echo").replace(b"HTTP/1.1", b"HTTP/1.0"))
    status, headers, _ = client.response()
    assert (status, headers["connection"]) == (200, "close")
    assert client.is_closed()


def test_an_offer_to_upgrade_is_declined(client):
    client.send(post("Echo", Connection="Upgrade, HTTP2-Settings", Upgrade="h2c") + post("Echo"))
    assert [client.response()[0] for _ in range(2)] == [200, 200]


def test_a_half_closed_client_still_gets_its_answers(start_server, connect):
    server = start_server()
    client = connect(server)
    client.send(post("Wait") + post("Echo"))
    client.socket.shutdown(1)
    eventually(lambda: server.waiting)
    server.open_gate()
    assert [client.response()[0] for _ in range(2)] == [200, 200]
    assert client.is_closed()


def test_what_follows_the_last_request_of_a_connection_is_dropped(start_server, connect):
    server = start_server()
    client = connect(server)
    rest = post("Echo") * 40 + post("Echo", Connection="close") + post("Echo") * 40
    client.send(post("Wait") + rest)
    eventually(lambda: server.waiting)
    server.open_gate()
    assert [client.response()[0] for _ in range(42)] == [200] * 42
    assert client.is_closed()
