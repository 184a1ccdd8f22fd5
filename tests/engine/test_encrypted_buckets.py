"""The buckets of a data directory are encrypted, decrypted and get new keys together with it."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from hashrange import maintenance
from hashrange.app.keys import ServerKeys
from hashrange.app.transfers import make_folder_store
from hashrange.config import Settings
from hashrange.engine.sqlite.encryption import MARK_NAME, EncryptionError, object_keys, read_mark
from hashrange.maintenance import MaintenanceError
from hashrange.objects.base import ObjectStoreError, get_object, put_object
from hashrange.objects.folder import FolderStore
from hashrange.objects.seals import PLAIN, KeySeal
from tests.engine.test_encryption import KEY, OTHER, fill, silent

WORD = b"planted-word"
CONTENTS = {"a/b": WORD, "c": WORD * 20_000}


def store_of(directory: Path, key: bytes | None, buckets: Path | None = None) -> FolderStore:
    """Return the buckets as a server with a key sees them."""
    text = None if key is None else key.hex()
    settings = Settings(data_dir=directory, bucket_dir=buckets, key=text)
    return make_folder_store(settings, ServerKeys(settings).object_keys(), is_inline=True)


def put_all(store: FolderStore) -> None:
    async def put() -> None:
        await store.create_bucket("bucket", "owner")
        for key, content in CONTENTS.items():
            await put_object(store, "bucket", key, content)

    asyncio.run(put())


def are_readable(store: FolderStore) -> bool:
    """Tell whether all objects can be read, or none; those that can are right."""

    async def get(key: str) -> bytes | None:
        try:
            return await get_object(store, "bucket", key)
        except ObjectStoreError as error:
            assert error.code == "InvalidObjectState"  # noqa: PT017 - another one is a failure
            return None

    found = {key: asyncio.run(get(key)) for key in CONTENTS}
    assert found == CONTENTS or set(found.values()) == {None}
    return found == CONTENTS


def show(folder: Path) -> bool:
    return any(WORD in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_buckets_follow_their_directory_through_every_conversion(tmp_path):
    fill(tmp_path, None)
    put_all(store_of(tmp_path, None))
    buckets = tmp_path / "buckets"
    assert show(buckets)
    maintenance.encrypt(str(tmp_path), KEY, None, silent)
    assert not show(buckets)
    assert are_readable(store_of(tmp_path, KEY))
    assert not are_readable(FolderStore(buckets, is_inline=True))
    before = {path: path.read_bytes() for path in buckets.rglob("*") if path.is_file()}
    maintenance.rekey(str(tmp_path), KEY, OTHER, pages=False, say_progress=silent)
    assert {path: path.read_bytes() for path in before} == before
    assert are_readable(store_of(tmp_path, OTHER))
    with pytest.raises(EncryptionError):
        object_keys(tmp_path, KEY)
    maintenance.decrypt(str(tmp_path), OTHER, silent)
    assert show(buckets)
    assert are_readable(store_of(tmp_path, None))
    # A plain directory has plain buckets, whether there is a key for secrets or not.
    assert are_readable(store_of(tmp_path, OTHER))


def test_a_stolen_key_opens_no_object_after_all_was_encrypted_anew(tmp_path):
    fill(tmp_path, KEY)
    put_all(store_of(tmp_path, KEY))
    stolen = object_keys(tmp_path, KEY)
    maintenance.rekey(str(tmp_path), KEY, OTHER, pages=True, say_progress=silent)
    assert are_readable(store_of(tmp_path, OTHER))
    old = FolderStore(tmp_path / "buckets", seal=KeySeal(stolen), is_inline=True)
    assert not are_readable(old)


def test_plain_files_in_an_encrypted_directory_are_refused_until_they_are_encrypted(tmp_path):
    fill(tmp_path, KEY)
    put_all(FolderStore(tmp_path / "buckets", is_inline=True))
    assert not are_readable(store_of(tmp_path, KEY))
    maintenance.encrypt(str(tmp_path), KEY, None, silent)
    assert are_readable(store_of(tmp_path, KEY))
    with pytest.raises(MaintenanceError, match="already"):
        maintenance.encrypt(str(tmp_path), KEY, None, silent)


def test_buckets_elsewhere_are_converted_if_they_are_named_and_never_lost(tmp_path):
    directory, buckets = tmp_path / "data", tmp_path / "elsewhere"
    fill(directory, KEY)
    put_all(store_of(directory, KEY, buckets))
    assert not show(buckets)
    maintenance.rekey(str(directory), KEY, OTHER, pages=True, say_progress=silent)
    assert are_readable(store_of(directory, OTHER, buckets))
    maintenance.decrypt(str(directory), OTHER, silent)
    assert not are_readable(store_of(directory, OTHER, buckets))
    maintenance.decrypt(str(directory), OTHER, silent, buckets)
    assert are_readable(store_of(directory, None, buckets))
    with pytest.raises(MaintenanceError, match="not encrypted"):
        maintenance.decrypt(str(directory), OTHER, silent, buckets)
    maintenance.encrypt(str(directory), OTHER, None, silent, buckets)
    assert are_readable(store_of(directory, OTHER, buckets))
    assert not show(buckets)


def test_an_object_that_cannot_be_read_stops_a_conversion_and_is_named(tmp_path):
    fill(tmp_path, KEY)
    put_all(store_of(tmp_path, KEY))
    (tmp_path / "buckets" / "bucket" / "c").write_bytes(os.urandom(10))
    os.truncate(tmp_path / "buckets" / "bucket" / "a" / "b", 50)
    said: list[str] = []
    with pytest.raises(MaintenanceError, match="cannot be read"):
        maintenance.decrypt(str(tmp_path), KEY, said.append)
    assert said == ["object bucket/a/b cannot be read; it was left as it is"]
    mark = read_mark(tmp_path)
    assert mark is not None
    assert mark.pages


def test_the_keys_of_objects_are_in_the_mark_as_older_releases_cannot_read_it(tmp_path):
    fill(tmp_path / "new", KEY)
    assert json.loads((tmp_path / "new" / MARK_NAME).read_bytes())["format"] == 1
    fill(tmp_path / "old", None)
    maintenance.encrypt(str(tmp_path / "old"), KEY, None, silent)
    content = (tmp_path / "old" / MARK_NAME).read_bytes()
    assert json.loads(content)["format"] == 2
    (key,) = object_keys(tmp_path / "old", KEY)
    assert key.hex().encode() not in content
    assert key != object_keys(tmp_path / "new", KEY)[0]


def test_a_folder_can_stay_plain_beside_an_encrypted_directory(tmp_path):
    settings = Settings(bucket_dir=tmp_path, plain_buckets=True)
    assert make_folder_store(settings, [KEY]).seal is PLAIN
