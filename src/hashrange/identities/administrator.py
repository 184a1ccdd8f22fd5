"""The first administrator: made once, when a server with authentication starts on empty data."""

from __future__ import annotations

from typing import Final

from hashrange.identities.records import SECRETS, AccessKey, Identity
from hashrange.identities.sessions import new_access_key_id, new_secret, new_unique_id
from hashrange.identities.store import IdentityStore, Rows, access_key_key, identity_key

NAME: Final = "admin"
_EVERYTHING: Final = "arn:aws:iam::aws:policy/AdministratorAccess"


class _AlreadyMadeError(Exception):
    """Somebody made the administrator first."""


async def make_administrator(
    store: IdentityStore, account: str, now: float
) -> tuple[str, str] | None:
    """Make the administrator unless there are users; return its access key id and secret."""
    directory = await store.refresh()
    if directory.version > 0:
        return None
    key_id, secret = new_access_key_id("AKIA"), new_secret()
    user_key = identity_key("user", account, NAME)
    user = Identity("user", account, NAME, "/", new_unique_id("AIDA"), now, attached=[_EVERYTHING])
    key = AccessKey(key_id, account, NAME, now, store.vault.seal(SECRETS, key_id, secret.encode()))

    def make(rows: Rows) -> Rows:
        if rows[user_key] is not None:
            raise _AlreadyMadeError
        return {user_key: user, access_key_key(key_id): key}

    try:
        await store.change([user_key], make)
    except _AlreadyMadeError:
        return None
    return key_id, secret
