"""Temporary files: read as they were written, while the disk has nothing that can be read."""

import os
import tempfile

import pytest

from hashrange.transfers.sealed_spool import SealedSpool

WORD = b"planted-word"


@pytest.mark.parametrize("size", [0, 1, 65_536, 300_001])
@pytest.mark.parametrize("step", [7_000, 100_000, -1])
def test_content_is_read_as_it_was_written(size, step):
    content = os.urandom(size)
    with SealedSpool() as spool:
        for start in range(0, size, 10_000):
            spool.write(content[start : start + 10_000])
        spool.rewind()
        read = b""
        while piece := spool.read(step):
            assert step < 0 or len(piece) == min(step, size - len(read))
            read += piece
            assert spool.tell() == len(read)
        assert read == content
        spool.seek(0)
        assert spool.read() == content


def test_the_file_has_no_name_and_cannot_be_read(monkeypatch, tmp_path):
    made = []
    make = tempfile.TemporaryFile

    def remember(**options):
        made.append(make(dir=tmp_path, **options))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", remember)
    with SealedSpool() as spool:
        spool.write(WORD * 20_000)
        spool.rewind()
        assert list(tmp_path.iterdir()) == []
        made[0].seek(0)
        assert WORD not in made[0].read()
