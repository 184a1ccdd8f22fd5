"""What web pages achieve: nothing, unless the settings name their origin."""

import json

import pytest

from hashrange.wire.http.visitors import Visitors
from tests.wire.conftest import post

PAGE = "https://app.example.com"
OTHER = "https://evil.example"
PREFLIGHT = (
    "OPTIONS / HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n"
    "Access-Control-Request-Headers: a, b\r\nAccess-Control-Request-Method: POST\r\n\r\n"
)


def preflight(client, origin, host="localhost"):
    client.send(PREFLIGHT.format(host=host, origin=origin).encode())
    return client.response()


def cors_lines(headers):
    return {name for name in headers if name.startswith("access-control-")}


def refused(answer):
    """Return the text of a refusal."""
    status, headers, body = answer
    assert status == 403
    assert not cors_lines(headers)
    document = json.loads(body)
    assert document["__type"].endswith("#AccessDeniedException")
    return document["message"]


@pytest.fixture
def allowing(start_server, connect):
    """A client of an open server that allows pages of one origin."""
    return connect(start_server(visitors=Visitors([PAGE])))


def test_a_page_of_an_allowed_origin_is_told_what_it_may_send(allowing):
    status, headers, body = preflight(allowing, PAGE)
    assert (status, body) == (200, b"")
    assert headers["access-control-allow-origin"] == PAGE
    assert headers["access-control-allow-headers"] == "a, b"
    assert headers["access-control-allow-methods"] == "POST"
    assert headers["access-control-max-age"] == "172800"
    assert headers["vary"] == "Origin"


def test_a_page_of_an_allowed_origin_may_read_the_answer(allowing):
    status, headers, _ = allowing.call(Origin=PAGE)
    assert status == 200
    assert headers["access-control-allow-origin"] == PAGE
    assert "x-amzn-RequestId" in headers["access-control-expose-headers"]
    assert not cors_lines(allowing.call()[1])


@pytest.mark.parametrize("origin", [OTHER, "null", PAGE + ".evil.example", "http://localhost:1"])
def test_pages_of_other_origins_are_refused_by_an_open_server(allowing, origin):
    assert "--cors-origin" in refused(preflight(allowing, origin))
    for _ in range(3):
        assert "--cors-origin" in refused(allowing.call(Origin=origin))
    assert allowing.call()[0] == 200


def test_no_origin_is_allowed_unless_it_is_named(client):
    assert "--cors-origin" in refused(preflight(client, PAGE))
    assert "--cors-origin" in refused(client.call(Origin=PAGE))


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_form_that_a_page_posts_reaches_no_service(client, content_type):
    body = b"Action=GetCallerIdentity&Version=2011-06-15"
    answer = client.call(body=body, Content_Type=content_type, X_Amz_Target=None, Origin=OTHER)
    assert "--cors-origin" in refused(answer)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_site_caused_without_an_origin_is_refused(client, site):
    client.send(
        b"GET /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1\r\n"
        b"Host: localhost\r\nSec-Fetch-Site: %b\r\n\r\n" % site.encode()
    )
    assert "other sites" in refused(client.response())


def test_a_page_of_the_server_itself_is_answered_without_being_named(client):
    assert client.call(Host="localhost:8000", Origin="http://localhost:8000")[0] == 200
    assert "--cors-origin" in refused(
        client.call(Host="localhost:8000", Origin="http://localhost:9000")
    )


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "127.1.2.3", "[::1]:8000", "b.localhost"],
)
def test_a_loopback_host_is_answered(client, host):
    assert client.call(Host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example"],
)
def test_another_host_is_refused_by_an_open_server_on_loopback(client, host):
    assert "--allowed-host" in refused(client.call(Host=host))
    # As after DNS rebinding, when the page has become the server's own.
    assert "--allowed-host" in refused(client.call(Host=host, Origin=f"http://{host}"))


def test_a_refused_host_is_not_echoed_at_length(client):
    assert len(refused(client.call(Host="x" * 10_000))) < 400


def test_a_request_without_a_host_comes_from_no_browser(client):
    assert client.call(Host=None)[0] == 200


def test_a_host_that_is_allowed_is_answered(start_server, connect):
    client = connect(start_server(visitors=Visitors(hosts=["db.example.com"])))
    assert client.call(Host="db.example.com:8000")[0] == 200
    assert client.call(Host="localhost")[0] == 200
    assert "--allowed-host" in refused(client.call(Host="other.example.com"))


def test_a_server_open_to_other_machines_answers_any_host_but_no_page(start_server, connect):
    client = connect(start_server(visitors=Visitors(is_local=False)))
    assert client.call(Host="db.example.com")[0] == 200
    rebound = client.call(Host="evil.example", Origin="http://evil.example")
    assert "--cors-origin" in refused(rebound)


def test_a_server_with_credentials_leaves_it_to_the_signature(start_server, connect):
    client = connect(start_server(credentials={"key": "secret"}))
    status, headers, body = client.call(Host="evil.example", Origin=OTHER)
    assert status == 400
    assert b"AccessDenied" not in body
    assert not cors_lines(headers)
    assert "--cors-origin" in refused(preflight(client, OTHER, "evil.example"))


def test_a_head_that_was_refused_once_is_refused_again(client):
    signature = "0" * 64
    authorization = (
        "AWS4-HMAC-SHA256 Credential=local/20260101/eu-west-1/dynamodb/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}"
    )
    request = post("Echo", Authorization=authorization, Host="evil.example")
    for _ in range(3):
        client.send(request)
        refused(client.response())
