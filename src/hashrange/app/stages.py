"""Composes the stages of the request pipeline from the settings."""

from __future__ import annotations

from hashrange.app.engines import StartError
from hashrange.app.keys import ServerKeys
from hashrange.clock import Clock
from hashrange.config import Settings
from hashrange.identities.store import IdentityStore
from hashrange.keyring.store import KeyStore
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


def make_identities(keys: ServerKeys) -> IdentityStore:
    """Return the store of identities, whose secrets are sealed under the root key."""
    return IdentityStore(keys.vault)


def make_stages(
    settings: Settings, clock: Clock, identities: IdentityStore, keys: KeyStore | None = None
) -> Stages:
    """Return the stages of the request pipeline: with authentication, policies decide.

    There are no throughput limits yet. Recorders are added where the data is opened.
    """
    if not settings.is_guarded:
        return Stages(OpenDoor())
    from hashrange.api.access.authoriser import PolicyAuthoriser

    secrets = StoredKeys(identities, _load_fixed_keys(settings))
    return Stages(Verifier(secrets, clock), PolicyAuthoriser(identities, keys))
