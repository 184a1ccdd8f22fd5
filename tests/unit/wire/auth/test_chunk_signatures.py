"""Signatures of chunks, beginning with the example that AWS documents."""

import hmac
from hashlib import sha256

import pytest

from hashrange.errors import InvalidSignatureException
from hashrange.wire.auth.chunk_signatures import check_chunks

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
START = b"20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n"
SEED = b"4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
SIGNATURES = (
    b"ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
    b"0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
    b"b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
)
SIGNED = b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
TRAILER = SIGNED + b"-TRAILER"
EXAMPLE = (b"a" * 65536, b"a" * 1024, b"")


def sign(text):
    key = f"AWS4{SECRET}".encode()
    for part in ("20130524", "us-east-1", "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text, "sha256").hex()


def body_of(contents, signatures, trailers=b""):
    chunks = [
        b"%x;chunk-signature=%b\r\n%b" % (len(content), signature, content and content + b"\r\n")
        for content, signature in zip(contents, signatures, strict=True)
    ]
    return b"".join(chunks) + trailers + b"\r\n"


def check(body, declared=SIGNED):
    check_chunks(body, declared, START, SEED, sign)


def test_the_example_of_aws_is_accepted():
    check(body_of(EXAMPLE, SIGNATURES))


@pytest.mark.parametrize(
    "body",
    [
        body_of((b"b" + EXAMPLE[0][1:], *EXAMPLE[1:]), SIGNATURES),
        body_of((EXAMPLE[0], b""), (SIGNATURES[0], SIGNATURES[2])),
        body_of((EXAMPLE[1], EXAMPLE[0], b""), (SIGNATURES[1], SIGNATURES[0], SIGNATURES[2])),
        body_of(EXAMPLE, (*SIGNATURES[:2], b"0" * 64)),
        body_of(EXAMPLE, SIGNATURES, b"x-amz-checksum-crc32:AAAAAA==\r\n"),
        b"400\r\n" + EXAMPLE[1] + b"\r\n0\r\n\r\n",
        b"no chunks",
        b"",
    ],
    ids=["changed", "left out", "moved", "last", "trailer", "unsigned", "malformed", "empty"],
)
def test_any_other_body_is_refused(body):
    with pytest.raises(InvalidSignatureException):
        check(body)


def test_trailers_are_signed_too():
    lines = b"x-amz-checksum-crc32:AAAAAA==\n"
    text = b"AWS4-HMAC-SHA256-TRAILER\n" + START + SIGNATURES[2] + b"\n"
    signature = sign(text + sha256(lines).hexdigest().encode()).encode()
    sent = b"x-amz-checksum-crc32:AAAAAA==\r\nx-amz-trailer-signature:%b\r\n"
    check(body_of(EXAMPLE, SIGNATURES, sent % signature), TRAILER)
    for trailers in (sent.replace(b"AAAAAA", b"BBBBBB") % signature, sent % (b"0" * 64), b""):
        with pytest.raises(InvalidSignatureException):
            check(body_of(EXAMPLE, SIGNATURES, trailers), TRAILER)


def test_bodies_that_are_not_signed_by_chunks_are_left_alone():
    check(b"anything", b"STREAMING-UNSIGNED-PAYLOAD-TRAILER")
    check(b"anything", b"UNSIGNED-PAYLOAD")
