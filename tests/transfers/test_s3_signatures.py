"""Signed uploads to a server that verifies: whole, in parts over TLS, in signed chunks."""

import base64
import hmac
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from botocore.httpsession import URLLib3Session

from hashrange.cli.certificate import CERTIFICATE_NAME, KEY_NAME
from tests.harness import server
from tests.wire.test_tls_command import serving

KEY, SECRET = "AKIDEXAMPLE", "a-secret-of-the-test"
SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
UNSIGNED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
TRAILER = "x-amz-checksum-crc32"
CONTENT = b"0123456789abcdef" * 10_000


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("keys")
    (folder / "keys.toml").write_text(f'[{KEY}]\nsecret = "{SECRET}"\n')
    return ["--credentials", str(folder / "keys.toml"), "--bucket-dir", str(folder / "buckets")]


@pytest.fixture(scope="module")
def url(flags: list[str]) -> Iterator[str]:
    with server.hashrange(*flags) as started:
        client(started).create_bucket(Bucket="bucket")
        yield started


def client(url: str, secret: str = SECRET, **options: Any) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
        **options,
    )


class Chunked(S3SigV4Auth):
    """Signs a request whose body comes in chunks."""

    declared = UNSIGNED

    def payload(self, request: AWSRequest) -> str:
        return self.declared


def put(url: str, key: str, declared: str, body_of: Any) -> tuple[int, bytes]:
    """Put an object whose body is made when the signature of the head is known."""
    headers = {"Content-Encoding": "aws-chunked", "X-Amz-Decoded-Content-Length": str(len(CONTENT))}
    if "TRAILER" in declared:
        headers["X-Amz-Trailer"] = TRAILER
    request = AWSRequest("PUT", f"{url}/bucket/{key}", headers)
    signer = Chunked(Credentials(KEY, SECRET), "s3", "us-east-1")
    signer.declared = declared
    signer.add_auth(request)
    seed = request.headers["Authorization"].rpartition("Signature=")[2]
    request.data = body_of(request.headers["X-Amz-Date"], seed)
    answer = URLLib3Session().send(request.prepare())
    return answer.status_code, answer.content


def crc32(content: bytes) -> bytes:
    return base64.b64encode(zlib.crc32(content).to_bytes(4, "big"))


def unsigned_body(checksum: bytes) -> Any:
    def make(_: str, __: str) -> bytes:
        trailer = TRAILER.encode() + b":" + checksum
        return b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(CONTENT), CONTENT, trailer)

    return make


def signed_body(*, change: bool = False, trailer: bytes = b"") -> Any:
    """Return what makes the body of two chunks and their signatures, and perhaps a trailer."""

    def make(time: str, before: str) -> bytes:
        scope = f"{time[:8]}/us-east-1/s3/aws4_request"
        signing_key = f"AWS4{SECRET}".encode()
        for part in scope.split("/"):
            signing_key = hmac.digest(signing_key, part.encode(), "sha256")

        def sign(kind: str, *lines: str) -> str:
            text = "\n".join((f"AWS4-HMAC-SHA256-{kind}", time, scope, *lines))
            return hmac.digest(signing_key, text.encode(), "sha256").hex()

        body = b""
        for chunk in (CONTENT[:100_000], CONTENT[100_000:], b""):
            digest = sha256(chunk).hexdigest()
            before = sign("PAYLOAD", before, sha256(b"").hexdigest(), digest)
            sent = chunk.replace(b"5", b"6") if change else chunk
            body += b"%x;chunk-signature=%b\r\n" % (len(chunk), before.encode())
            body += sent + b"\r\n" if chunk else b""
        if trailer:
            signature = sign("TRAILER", before, sha256(trailer + b"\n").hexdigest()).encode()
            body += trailer + b"\r\nx-amz-trailer-signature:" + signature + b"\r\n"
        return body + b"\r\n"

    return make


def content_of(url: str, key: str) -> bytes:
    content: bytes = client(url).get_object(Bucket="bucket", Key=key)["Body"].read()
    return content


def test_a_trailer_with_the_checksum_is_verified(url: str) -> None:
    assert put(url, "good", UNSIGNED, unsigned_body(crc32(CONTENT)))[0] == 200
    assert content_of(url, "good") == CONTENT
    status, answer = put(url, "bad", UNSIGNED, unsigned_body(crc32(b"other")))
    assert (status, b"BadDigest" in answer) == (400, True)


def test_signed_chunks_are_verified(url: str) -> None:
    assert put(url, "chunks", SIGNED, signed_body())[0] == 200
    assert content_of(url, "chunks") == CONTENT
    status, answer = put(url, "changed", SIGNED, signed_body(change=True))
    assert (status, b"SignatureDoesNotMatch" in answer) == (403, True), answer
    status, answer = put(url, "unsigned", SIGNED, unsigned_body(crc32(CONTENT)))
    assert (status, b"SignatureDoesNotMatch" in answer) == (403, True), answer


def test_signed_trailers_are_verified(url: str) -> None:
    trailer = TRAILER.encode() + b":" + crc32(CONTENT)
    assert put(url, "trailer", f"{SIGNED}-TRAILER", signed_body(trailer=trailer))[0] == 200
    assert content_of(url, "trailer") == CONTENT
    status, answer = put(url, "none", f"{SIGNED}-TRAILER", signed_body())
    assert (status, b"SignatureDoesNotMatch" in answer) == (403, True), answer


def test_an_unknown_kind_of_chunks_is_refused(url: str) -> None:
    status, answer = put(url, "other", "STREAMING-SOMETHING", unsigned_body(crc32(CONTENT)))
    assert (status, b"SignatureDoesNotMatch" in answer) == (403, True), answer


def test_a_wrong_secret_is_refused(url: str) -> None:
    with pytest.raises(ClientError) as caught:
        client(url, "another").put_object(Bucket="bucket", Key="a", Body=b"")
    assert caught.value.response["Error"]["Code"] == "SignatureDoesNotMatch"


def test_boto3_uploads_a_large_file_over_tls_in_unsigned_chunks(
    flags: list[str], tmp_path: Path
) -> None:
    make = [sys.executable, "-m", "hashrange", "certificate", "--output", str(tmp_path)]
    subprocess.run(make, check=True, capture_output=True)
    pair = (tmp_path / CERTIFICATE_NAME, tmp_path / KEY_NAME)
    with serving(tmp_path, pair, *flags) as (started, _):
        s3 = client(started, verify=str(pair[0]))
        sent: list[bytes] = []
        s3.meta.events.register(
            "before-send.s3.UploadPart",
            lambda request, **_: sent.append(request.headers["X-Amz-Content-SHA256"]),
        )
        s3.create_bucket(Bucket="large")
        content = os.urandom(1 << 20) * 18
        (tmp_path / "up").write_bytes(content)
        s3.upload_file(str(tmp_path / "up"), "large", "file")
        assert sent == [UNSIGNED.encode()] * 3
        s3.download_file("large", "file", str(tmp_path / "down"))
        assert (tmp_path / "down").read_bytes() == content
