"""Checksums and compression by whichever library there is: the results are those of zlib."""

import importlib
import sys
import zlib

import pytest

from hashrange import quick_zlib

CONTENTS = [b"", b"a", bytes(range(256)) * 40, b"the same again, " * 5000]


@pytest.fixture(params=["isal", "zlib"])
def library(request, monkeypatch):
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    yield importlib.reload(quick_zlib)
    monkeypatch.undo()
    importlib.reload(quick_zlib)


@pytest.mark.parametrize("content", CONTENTS, ids=len)
def test_a_checksum_is_that_of_zlib(library, content):
    assert library.crc32(content) == zlib.crc32(content)
    assert library.crc32(content, 7) == zlib.crc32(content, 7)


@pytest.mark.parametrize("content", CONTENTS, ids=len)
@pytest.mark.parametrize("window", [15, 31], ids=["zlib", "gzip"])
def test_zlib_reads_what_was_compressed(library, content, window):
    for level in (library.QUICKEST, library.QUICK):
        assert zlib.decompress(library.compress(content, level, window), window) == content
        compressor = library.compressobj(level, zlib.DEFLATED, window)
        packed = compressor.compress(content) + compressor.flush()
        assert zlib.decompress(packed, window) == content
