"""TLS: what is refused, new certificates without a restart, and certificates of clients."""

import os
import socket
import ssl
from typing import Any

import pytest

from hashrange.cli.certificate import make_certificate
from hashrange.wire.http.bounds import Bounds
from hashrange.wire.http.tls import CertificateError, Certificates
from tests.wire.conftest import eventually, post

QUICK: Any = {"tick_seconds": 0.01, "stop_seconds": 2}


def write_pair(directory, name="server", names=("localhost",)):
    """Make a certificate; return the paths of it and of its key."""
    paths = directory / f"{name}.crt", directory / f"{name}.key"
    for path, content in zip(paths, make_certificate(names, 1), strict=True):
        new = path.with_suffix(".new")
        new.write_bytes(content)
        os.replace(new, path)
    return paths


def trusting(certificate, **versions):
    context = ssl.create_default_context(cafile=certificate)
    # What newer Pythons and other libraries ask for.
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    for name, value in versions.items():
        setattr(context, name, value)
    return context


@pytest.fixture
def pair(tmp_path):
    return write_pair(tmp_path)


@pytest.fixture
def server(start_server, pair):
    return start_server(Bounds(**QUICK), certificates=Certificates(*pair))


def test_requests_are_answered_and_known_to_have_come_safely(server, connect, pair):
    client = connect(server, trusting(pair[0]))
    for _ in range(3):
        status, _, body = client.call("Echo", b'{"Name":1}')
        assert (status, b'"Name":1' in body) == (200, True)
    assert server.last_peer.is_secure
    assert server.last_peer.tls == ("TLSv1.3", client.socket.cipher()[0])
    assert server.last_peer.address == "127.0.0.1"
    assert client.socket.version() == "TLSv1.3"
    assert client.socket.selected_alpn_protocol() is None


def test_large_requests_and_answers_pass(server, connect, pair):
    client = connect(server, trusting(pair[0]))
    name = b"x" * 900_000
    assert name in client.call("Echo", b'{"Name":"%b"}' % name)[2]


def test_tls_1_2_is_accepted_with_a_sound_cipher_only(server, connect, pair):
    newest = trusting(pair[0], maximum_version=ssl.TLSVersion.TLSv1_2)
    client = connect(server, newest)
    assert client.call()[0] == 200
    assert "GCM" in client.socket.cipher()[0] or "CHACHA20" in client.socket.cipher()[0]
    weak = trusting(pair[0], maximum_version=ssl.TLSVersion.TLSv1_2)
    weak.set_ciphers("ECDHE-ECDSA-AES128-SHA256")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        connect(server, weak)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_older_versions_are_refused(server, connect, pair):
    old = trusting(pair[0], minimum_version=ssl.TLSVersion.TLSv1_1)
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        connect(server, old)


def test_plain_http_is_refused_with_a_hint_and_nothing_is_carried_out(server, connect):
    client = connect(server)
    client.send(post("Echo"))
    status, headers, body = client.response()
    assert (status, headers["connection"]) == (400, "close")
    assert b"https://" in body
    assert client.is_closed()
    assert server.last_peer is None


def test_a_client_that_never_begins_does_not_stay(start_server, connect, pair):
    certificates = Certificates(*pair)
    server = start_server(Bounds(header_seconds=0.05, **QUICK), certificates=certificates)
    client = connect(server)
    assert client.is_closed()
    stopped_midway = connect(server)
    stopped_midway.send(b"\x16\x03\x01")
    assert stopped_midway.is_closed()
    assert connect(server, trusting(pair[0])).call()[0] == 200


def test_a_refused_request_is_answered_although_more_of_it_comes(start_server, connect, pair):
    bounds = Bounds(body_bytes_max=1000, linger_seconds=0.05, **QUICK)
    server = start_server(bounds, certificates=Certificates(*pair))
    client = connect(server, trusting(pair[0]))
    client.send(post("Echo", b"x" * 200_000))
    status, headers, _ = client.response()
    assert (status, headers["connection"]) == (413, "close")
    assert client.is_closed()


def test_a_stop_finishes_what_is_under_way(start_server, connect, pair):
    server = start_server(certificates=Certificates(*pair))
    busy, idle = (connect(server, trusting(pair[0])) for _ in range(2))
    assert idle.call()[0] == 200
    busy.send(post("Wait"))
    eventually(lambda: server.waiting == 1)
    begun = socket.create_connection(("127.0.0.1", server.port))
    eventually(lambda: server.server._joining)
    server.stop()
    assert idle.is_closed()
    server.open_gate()
    assert busy.response()[0] == 200
    begun.close()


def test_a_new_certificate_serves_new_connections_and_open_ones_go_on(server, connect, tmp_path):
    old_certificate = tmp_path / "server.crt"
    old = connect(server, trusting(old_certificate))
    assert old.call()[0] == 200
    before = old.socket.getpeercert(True)
    write_pair(tmp_path)

    def shows_the_new_one():
        try:
            client = connect(server, trusting(old_certificate))
        except ssl.SSLError:
            return False
        return client.socket.getpeercert(True) != before

    eventually(shows_the_new_one)
    assert old.call()[0] == 200
    assert old.socket.getpeercert(True) == before


def test_half_a_new_pair_leaves_the_old_one_in_use_until_the_other_half_comes(pair, caplog):
    certificates = Certificates(*pair)
    used = certificates.context
    certificate, key = make_certificate(["localhost"], 1)
    pair[0].write_bytes(certificate)
    certificates.refresh()
    assert certificates.context is used
    assert "stays" in caplog.text
    pair[1].write_bytes(key)
    certificates.refresh()
    assert certificates.context is not used


def test_unchanged_files_are_not_read_again(pair):
    certificates = Certificates(*pair)
    used = certificates.context
    certificates.refresh()
    assert certificates.context is used


def test_clients_need_a_certificate_of_the_authority_that_was_named(
    start_server, connect, pair, tmp_path
):
    client_pair, stranger_pair = (write_pair(tmp_path, name) for name in ("client", "stranger"))
    certificates = Certificates(pair[0], pair[1], client_pair[0])
    server = start_server(Bounds(**QUICK), certificates=certificates)
    known = trusting(pair[0])
    known.load_cert_chain(*client_pair)
    stranger = trusting(pair[0])
    stranger.load_cert_chain(*stranger_pair)
    for refused in (trusting(pair[0]), stranger):
        # With TLS 1.3 the client hears of it when it first reads.
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(server, refused).call()
    assert server.last_peer is None
    assert connect(server, known).call()[0] == 200


def test_files_that_cannot_be_used_are_refused_with_their_names(pair, tmp_path):
    missing = tmp_path / "missing.pem"
    other = write_pair(tmp_path, "other")
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("rubbish")
    for arguments, name in (
        ((missing, pair[1]), "missing.pem"),
        ((pair[0], other[1]), "server.crt"),
        ((*pair, rubbish), "rubbish.pem"),
    ):
        with pytest.raises(CertificateError, match=name):
            Certificates(*arguments)
