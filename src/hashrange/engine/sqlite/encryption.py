"""The encryption of a data directory: its keys, and the file that tells which key opens them.

Pages are encrypted with a random key, the *page key*, by SQLite3 Multiple Ciphers (AEGIS-256, which
also authenticates them). The server's key seals the page key and the *root key*, under which
secrets in rows are sealed; so another server's key means two new seals, and no page is written.

ENCRYPTION := JSON of {"format": 1, "cipher": "aegis-256", "key": id of the server's key,
                       "root": sealed root key, "pages": [{"salt": hexadecimal, "key": sealed}]}
              with "format": 2 if there is {"objects": [{"id": hexadecimal, "key": sealed}]} too

The *object keys* seal the files of buckets, the last one those that are written. None is ever
removed, because a folder of buckets may be elsewhere; without any, there is one of the root key.

The first sixteen bytes of an encrypted database are the salt of its page key, and those of a plain
one are SQLite's own. So there is never a doubt which page key a database has: while a database is
written anew, `pages` has both, and one rename moves from one to the other. A directory whose
`pages` are empty is plain; a directory without the file is too, and its root key is the server's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final
from urllib.parse import quote

import apsw

from hashrange.engine.sqlite.file_locks import open_private
from hashrange.sealing import KEY_BYTES, SealError, Vault, derive_key

MARK_NAME: Final = "ENCRYPTION"
NEW_MARK_NAME: Final = MARK_NAME + ".new"
SALT_BYTES: Final = 16

_FORMAT: Final = 1
_FORMAT_WITH_OBJECTS: Final = 2
_CIPHER: Final = "aegis-256"
_PURPOSE: Final = "data directory"
_OBJECTS_PURPOSE: Final = "objects"
_ID_BYTES: Final = 8
_MARK_BYTES_MAX: Final = 1 << 16
_PLAIN_START: Final = b"SQLite format 3\0"


class EncryptionError(Exception):
    """The directory cannot be opened with this key; the message says why, for people."""


@final
class PageKey:
    """The key of the pages of one database."""

    __slots__ = ("_key", "salt")

    def __init__(self, key: bytes, salt: bytes) -> None:
        assert len(key) == KEY_BYTES
        assert len(salt) == SALT_BYTES
        self._key = key
        self.salt = salt

    def apply(self, connection: apsw.Connection) -> None:
        """Have a connection encrypt and decrypt; before anything else is done with it."""
        connection.pragma("cipher", "aegis")
        connection.pragma("key", self.text())
        # Temporary files would be plain.
        connection.pragma("temp_store", 2)

    def seal(self, vault: Vault) -> str:
        return vault.seal(_PURPOSE, f"pages {self.salt.hex()}", self._key)

    def text(self) -> str:
        """Return the key as SQLite3 Multiple Ciphers reads it."""
        return f"raw:{self._key.hex()}{self.salt.hex()}"


def database_uri(path: Path, key: PageKey | None) -> str:
    """Return the address of a new database that is to have a key, or none."""
    address = f"file:{quote(str(path))}"
    return f"{address}?key=" if key is None else f"{address}?cipher=aegis&key={quote(key.text())}"


def make_page_key() -> PageKey:
    """Return a new key."""
    return PageKey(os.urandom(KEY_BYTES), os.urandom(SALT_BYTES))


def key_id(server_key: bytes) -> str:
    """Return what a key is called, which tells nothing about it."""
    return derive_key(server_key, "key id")[:_ID_BYTES].hex()


@final
@dataclass(frozen=True, slots=True)
class Mark:
    """What ENCRYPTION says: which server's key opens what it holds."""

    key: str
    root: str
    pages: tuple[tuple[str, str], ...] = ()
    objects: tuple[tuple[str, str], ...] = ()

    def root_key(self, server_key: bytes) -> bytes:
        """Return the key that secrets in rows are sealed under."""
        return self._open(server_key, "root", self.root)

    def page_key(self, server_key: bytes, salt: bytes) -> PageKey | None:
        """Return the key of a database that begins with a salt; None if it is not among these."""
        for known, sealed in self.pages:
            if known == salt.hex():
                return PageKey(self._open(server_key, f"pages {known}", sealed), salt)
        return None

    def with_pages(self, server_key: bytes, keys: Sequence[PageKey]) -> Mark:
        """Return the same for databases with these keys."""
        vault = Vault(lambda: server_key)
        return replace(self, pages=tuple((key.salt.hex(), key.seal(vault)) for key in keys))

    def object_keys(self, server_key: bytes) -> list[bytes]:
        """Return the keys that seal the files of buckets, the newest first."""
        keys = [self._open(server_key, f"objects {id}", sealed) for id, sealed in self.objects]
        return keys[::-1] or [derive_key(self.root_key(server_key), _OBJECTS_PURPOSE)]

    def with_objects(self, server_key: bytes, keys: Sequence[bytes]) -> Mark:
        """Return the same with these object keys, the newest first."""
        vault = Vault(lambda: server_key)
        ids = [(os.urandom(_ID_BYTES).hex(), key) for key in reversed(keys)]
        sealed = [(id, vault.seal(_PURPOSE, f"objects {id}", key)) for id, key in ids]
        return replace(self, objects=tuple(sealed))

    def rekeyed(self, server_key: bytes, new_key: bytes) -> Mark:
        """Return the same, sealed with another key."""
        keys = [self.page_key(server_key, bytes.fromhex(salt)) for salt, _ in self.pages]
        mark = make_mark(new_key, self.root_key(server_key))
        if self.objects:
            mark = mark.with_objects(new_key, self.object_keys(server_key))
        return mark.with_pages(new_key, [key for key in keys if key is not None])

    def _open(self, server_key: bytes, subject: str, sealed: str) -> bytes:
        given = key_id(server_key)
        if given != self.key:
            raise EncryptionError(
                f"it is encrypted with the key {self.key}, and the key that was given is {given}"
            )
        try:
            return Vault(lambda: server_key).open(_PURPOSE, subject, sealed)
        except SealError:
            raise EncryptionError(f"the file {MARK_NAME} is damaged") from None


def make_mark(server_key: bytes, root_key: bytes) -> Mark:
    """Return the mark of a directory without encrypted pages."""
    sealed = Vault(lambda: server_key).seal(_PURPOSE, "root", root_key)
    return Mark(key_id(server_key), sealed)


def read_mark(directory: Path) -> Mark | None:
    """Return what the directory says about its encryption; None if it says nothing."""
    try:
        descriptor = open_private(directory / MARK_NAME, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MARK_BYTES_MAX)
    try:
        document = json.loads(content)
        is_known = document["format"] in (_FORMAT, _FORMAT_WITH_OBJECTS)
        if not is_known or document["cipher"] != _CIPHER:
            raise EncryptionError("it was encrypted by a newer release of Hashrange")
        pages = tuple((str(page["salt"]), str(page["key"])) for page in document["pages"])
        listed = document.get("objects", ())
        objects = tuple((str(found["id"]), str(found["key"])) for found in listed)
        return Mark(str(document["key"]), str(document["root"]), pages, objects)
    except (ValueError, KeyError, TypeError):
        raise EncryptionError(f"the file {MARK_NAME} is damaged") from None


def write_mark(directory: Path, mark: Mark) -> None:
    """Replace what the directory says about its encryption, durably and in one step."""
    document: dict[str, object] = {
        "format": _FORMAT_WITH_OBJECTS if mark.objects else _FORMAT,
        "cipher": _CIPHER,
        "key": mark.key,
        "root": mark.root,
        "pages": [{"salt": salt, "key": sealed} for salt, sealed in mark.pages],
    }
    if mark.objects:
        document["objects"] = [{"id": id, "key": sealed} for id, sealed in mark.objects]
    new = directory / NEW_MARK_NAME
    descriptor = open_private(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(json.dumps(document, indent=1).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, directory / MARK_NAME)
    sync_directory(directory)


def sync_directory(directory: Path) -> None:
    """Wait until the disk has the names of a directory."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def root_key(directory: Path, server_key: bytes) -> bytes:
    """Return the key that secrets in the rows of a directory are sealed under."""
    mark = read_mark(directory)
    return server_key if mark is None else mark.root_key(server_key)


def object_keys(directory: Path, server_key: bytes) -> list[bytes]:
    """Return the keys that seal the buckets of a directory, newest first; none if it is plain."""
    mark = read_mark(directory)
    return [] if mark is None or not mark.pages else mark.object_keys(server_key)


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """What a key opened: the key of the pages (None: they are plain), and a mark yet to be made."""

    page_key: PageKey | None
    new_mark: Mark | None = None


def open_encryption(
    database: Path, server_key: bytes | None, *, accepts_interrupted: bool = False
) -> Opened:
    """Return how to read a database, or raise; changes nothing.

    A new directory is encrypted if there is a key. With `accepts_interrupted` a plain database is
    one also where its encryption has begun, or its decryption has not quite ended.
    """
    directory = database.parent
    mark = read_mark(directory)
    start = _read_start(database)
    if mark is None:
        if server_key is None:
            return Opened(None)
        if start:
            raise EncryptionError(
                "it is not encrypted, and there is a key. Leave out the key, or encrypt the "
                f"directory with `hashrange encrypt {directory}`"
            )
        key = make_page_key()
        return Opened(
            key, make_mark(server_key, os.urandom(KEY_BYTES)).with_pages(server_key, [key])
        )
    if server_key is not None:
        mark.root_key(server_key)  # raises unless it is the right one
    if not mark.pages:
        return Opened(None)
    if start == _PLAIN_START:
        if accepts_interrupted:
            return Opened(None)
        raise EncryptionError(
            "its encryption or decryption was interrupted, and nothing is lost. Run `hashrange "
            f"encrypt {directory}` or `hashrange decrypt {directory}` again"
        )
    if server_key is None:
        raise EncryptionError(
            f"it is encrypted with the key {mark.key}. Give it with --key-file or --key-command, "
            "or in the variable HASHRANGE_KEY"
        )
    # A database that is only being made has no start yet, or not all of it.
    salt = start if any(start) else bytes.fromhex(mark.pages[-1][0])
    page_key = mark.page_key(server_key, salt)
    if page_key is None:
        raise EncryptionError(f"the file {MARK_NAME} does not belong to {database.name}")
    return Opened(page_key)


def _read_start(database: Path) -> bytes:
    try:
        with database.open("rb") as file:
            return file.read(SALT_BYTES)
    except FileNotFoundError:
        return b""
