"""Composes the stages of the request pipeline from the settings."""

from __future__ import annotations

from hashrange.api.access.authoriser import PolicyAuthoriser
from hashrange.app.engines import StartError
from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.identities.store import IdentityStore
from hashrange.identities.vault import Vault
from hashrange.server_key import (
    ServerKeyError,
    default_key_file,
    load_server_key,
    volatile_key,
)
from hashrange.wire.auth.credentials import CredentialsFileError, load_credentials
from hashrange.wire.auth.key_rings import FixedKeys, StoredKeys
from hashrange.wire.auth.sigv4 import OpenDoor, Verifier
from hashrange.wire.stages import Stages


def _load_fixed_keys(settings: Settings) -> FixedKeys:
    """Return the credentials that the settings name."""
    if settings.credentials is None:
        return FixedKeys({})
    try:
        return FixedKeys(load_credentials(settings.credentials))
    except CredentialsFileError as error:
        raise StartError(str(error)) from error


def make_identities(settings: Settings) -> IdentityStore:
    """Return the store of identities; with authentication, the server's key is read at once."""
    if settings.key_file is None and settings.in_memory:
        return IdentityStore(Vault(volatile_key()))
    path = settings.key_file or default_key_file(settings.data_dir)

    def load() -> bytes:
        return load_server_key(path, may_create=settings.key_file is None)

    if settings.is_guarded:
        try:
            load()
        except ServerKeyError as error:
            raise StartError(str(error)) from error
    return IdentityStore(Vault(load))


def make_stages(settings: Settings, clock: Clock, identities: IdentityStore) -> Stages:
    """Return the stages of the request pipeline: with authentication, policies decide.

    There are no throughput limits yet. Recorders are added where the data is opened.
    """
    if not settings.is_guarded:
        return Stages(OpenDoor())
    keys = StoredKeys(identities, _load_fixed_keys(settings))
    return Stages(Verifier(keys, clock), PolicyAuthoriser(identities))
