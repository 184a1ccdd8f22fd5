"""Bodies in chunks, as S3 clients send them."""

import pytest

from hashrange.errors import SerializationException
from hashrange.wire.aws_chunked import is_chunked, read_chunks


def test_chunks_are_joined_and_trailers_named():
    body = b"5;chunk-signature=ab\r\nhello\r\n1\r\n!\r\n0\r\nX-Amz-Checksum-CRC32: abc=\r\n\r\n"
    assert read_chunks(body) == (b"hello!", {b"x-amz-checksum-crc32": b"abc="})
    assert read_chunks(b"0\r\n\r\n") == (b"", {})


@pytest.mark.parametrize(
    "body", [b"", b"5\r\nhel", b"5\r\nhelloXX0\r\n", b"z\r\n", b"123456789\r\n", b";\r\n", b"5"]
)
def test_what_is_not_in_chunks_is_refused(body):
    with pytest.raises(SerializationException):
        read_chunks(body)


def test_the_coding_may_be_one_of_several():
    assert is_chunked(b"gzip, aws-chunked")
    assert not is_chunked(b"gzip")
