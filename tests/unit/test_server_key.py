"""The key file: made once, for its owner only, and refused if it is not what it should be."""

import pytest

from hashrange.server_key import ServerKeyError, default_key_file, load_server_key


def test_a_key_is_made_once_beside_the_data(tmp_path):
    path = default_key_file(tmp_path / "deep" / "data")
    assert path == tmp_path / "deep" / "data.key"
    key = load_server_key(path, may_create=True)
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_server_key(path, may_create=True) == key
    assert [entry.name for entry in path.parent.iterdir()] == ["data.key"]


def test_a_key_file_that_was_named_is_not_made(tmp_path):
    with pytest.raises(ServerKeyError, match="Cannot read the key file"):
        load_server_key(tmp_path / "none", may_create=False)


def test_a_key_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "key"
    load_server_key(path, may_create=True)
    path.chmod(0o640)
    with pytest.raises(ServerKeyError, match="chmod 600"):
        load_server_key(path, may_create=True)


@pytest.mark.parametrize("text", ["", "no key", "00" * 31, "00" * 33])
def test_what_is_no_key_is_refused(tmp_path, text):
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ServerKeyError, match="hexadecimal"):
        load_server_key(path, may_create=True)
