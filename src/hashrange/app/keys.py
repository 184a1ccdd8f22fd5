"""The keys of a server: its own, which encrypts the data directory, and that of secrets in rows."""

from __future__ import annotations

from typing import final

from hashrange.app.engines import StartError, find_object_keys, find_root_key
from hashrange.config import Settings
from hashrange.errors import ValidationException
from hashrange.keyring.store import KeyStore
from hashrange.sealing import Vault, derive_key
from hashrange.server_key import (
    KeySource,
    ServerKeyError,
    default_key_file,
    volatile_key,
)


@final
class ServerKeys:
    """Loaded once, in the parent process, so that a key command runs once.

    Without a key in the settings, secrets are protected by one that is made beside the data when it
    is first needed, and the data directory is not encrypted.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._volatile = volatile_key()
        source = settings.key_source
        self.given = _load(source) if source.is_given else None
        self.vault = Vault(self.root)
        self.keyring = KeyStore(Vault(self._lasting_root))
        if settings.is_guarded and self.given is None and not settings.in_memory:
            self._default()

    def root(self) -> bytes:
        """Return the key that secrets in rows are sealed under; the data is prepared by then."""
        if self._settings.in_memory or self._settings.is_clustered:
            return self.given or self._volatile()
        return find_root_key(self._settings, self.given or self._default())

    def object_keys(self) -> list[bytes]:
        """Return the keys that seal the files of buckets, the newest first; none: they are plain.

        The data is prepared by then. A data directory has keys of its own; elsewhere there is one.
        """
        if self.given is None:
            return []
        if self._settings.in_memory or self._settings.is_clustered:
            return [derive_key(self.given, "objects")]
        return find_object_keys(self._settings, self.given)

    def _lasting_root(self) -> bytes:
        """Return the same key for what has to be opened by other processes, and later."""
        if self._settings.is_clustered and self.given is None:
            raise ValidationException(
                "KMS keys need a server that was started with a key: on a cluster, give --key-file."
            )
        return self.root()

    def _default(self) -> bytes:
        source = KeySource(default_key_file(self._settings.data_dir))
        return _load(source, may_create=True)


def _load(source: KeySource, *, may_create: bool = False) -> bytes:
    try:
        return source.load(may_create=may_create)
    except ServerKeyError as error:
        raise StartError(str(error)) from error
