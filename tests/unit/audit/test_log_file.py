"""The audit log: whole lines, private files, rotation that several processes agree on."""

import os
import stat

from hashrange.audit.log_file import FILES_MAX, LogFile


def test_lines_are_appended_to_a_private_file(tmp_path):
    path = tmp_path / "audit.log"
    for text in (b"one\n", b"two\n"):
        log = LogFile(str(path))
        log.write(text)
        log.close()
    assert path.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_file_is_renamed_and_the_newest_are_kept(tmp_path):
    path = tmp_path / "audit.log"
    log = LogFile(str(path), bytes_max=10)
    for number in range(FILES_MAX + 5):
        log.write(f"line {number:05}\n".encode())
    log.close()
    names = {each.name for each in tmp_path.iterdir()} - {"audit.log.lock"}
    assert names == {"audit.log", *(f"audit.log.{number}" for number in range(1, FILES_MAX))}
    assert path.read_text() == "line 00014\n"
    assert (tmp_path / "audit.log.1").read_text() == "line 00013\n"


def test_another_process_that_renamed_the_file_is_followed(tmp_path):
    path = tmp_path / "audit.log"
    first, second = LogFile(str(path), bytes_max=10), LogFile(str(path), bytes_max=10)
    first.write(b"from one..\n")
    second.write(b"from two..\n")
    first.write(b"later\n")
    first.close()
    second.close()
    everything = b"".join(each.read_bytes() for each in tmp_path.glob("audit.log*"))
    assert sorted(everything.split()) == sorted(b"from one.. from two.. later".split())


def test_a_file_that_cannot_be_written_is_logged_once_and_refuses_nothing(tmp_path, caplog):
    log = LogFile(str(tmp_path / "missing" / "audit.log"))
    log.write(b"x\n")
    log.write(b"y\n")
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    os.mkdir(tmp_path / "missing")
    log.write(b"z\n")
    log.close()
    assert (tmp_path / "missing" / "audit.log").read_bytes() == b"z\n"
