"""Key rings: where the verifier of signatures finds secrets, and whose they are."""

from __future__ import annotations

import hmac
import math
from collections.abc import Callable, Mapping
from typing import Final, Protocol, final

from hashrange.identities.records import SECRETS, AccessKey
from hashrange.identities.sessions import open_session, session_grants
from hashrange.identities.store import IdentityStore
from hashrange.policies.documents import Kind, compile_policy
from hashrange.policies.evaluation import Grants
from hashrange.policies.principals import Principal, root_arn
from hashrange.sealing import SealError

_ALL: Final = (
    '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}'
)
_TEMPORARY: Final = "ASIA"


@final
class Credential:
    """A known access key: its secret, its principal with policies, and when it ends."""

    __slots__ = ("access_key", "expires_at", "grants", "secret", "token")

    def __init__(
        self,
        access_key: str,
        secret: str,
        grants: Grants,
        *,
        token: str | None = None,
        expires_at: float = math.inf,
    ) -> None:
        self.access_key = access_key
        self.secret = secret
        self.grants = grants
        self.token = token.encode() if token else None
        self.expires_at = expires_at


class KeyRing(Protocol):
    """Finds credentials by access key id."""

    @property
    def version(self) -> int:
        """A number that moves when credentials may have changed."""

    @property
    def is_current(self) -> bool:
        """Whether `find` may be called at once."""

    def freshness(self) -> tuple[Callable[[], int], int]:
        """Return a counter that moves with changes, and its value when `find` looked last."""

    async def refresh(self) -> None:
        """Look for changes."""

    def find(self, access_key: str, token: bytes | None) -> Credential | None:
        """Return the credential of a key and the token sent with it, None if there is none."""


def root_grants(account: str) -> Grants:
    """Return the root of an account, which may do everything in it."""
    arn = root_arn(account)
    keys = {
        "aws:principalarn": arn,
        "aws:principaltype": "Account",
        "aws:principalaccount": account,
        "aws:userid": account,
    }
    policy = compile_policy(_ALL, Kind.IDENTITY, "root")
    return Grants(Principal(arn, account, keys=keys), [policy])


@final
class FixedKeys:
    """The credentials of a file, which last as long as the server runs."""

    version = 0
    is_current = True

    def __init__(self, credentials: Mapping[str, Credential]) -> None:
        self._credentials = dict(credentials)

    def freshness(self) -> tuple[Callable[[], int], int]:
        return _stand_still, 0

    async def refresh(self) -> None:
        return None

    def find(self, access_key: str, token: bytes | None) -> Credential | None:
        credential = self._credentials.get(access_key)
        if credential is None or not _same(credential.token, token):
            return None
        return credential


@final
class StoredKeys:
    """The access keys of users and the tokens of sessions; a file's credentials come first."""

    def __init__(self, store: IdentityStore, fixed: FixedKeys) -> None:
        self._store = store
        self._vault = store.vault
        self._fixed = fixed

    @property
    def version(self) -> int:
        return self._store.directory.version

    @property
    def is_current(self) -> bool:
        return self._store.is_current

    def freshness(self) -> tuple[Callable[[], int], int]:
        return self._store.freshness()

    async def refresh(self) -> None:
        await self._store.refresh()

    def find(self, access_key: str, token: bytes | None) -> Credential | None:
        fixed = self._fixed.find(access_key, token)
        if fixed is not None:
            return fixed
        if token is not None:
            return self._find_session(access_key, token)
        key = self._store.directory.access_key(access_key)
        return None if key is None or not key.is_active else self._find_user(key)

    def _find_user(self, key: AccessKey) -> Credential | None:
        directory = self._store.directory
        user = directory.identity("user", key.account, key.user)
        if user is None:
            return None
        try:
            secret = self._vault.open(SECRETS, key.id, key.sealed_secret).decode()
        except SealError:
            return None
        return Credential(key.id, secret, directory.user_grants(user))

    def _find_session(self, access_key: str, token: bytes) -> Credential | None:
        if not access_key.startswith(_TEMPORARY):
            return None
        try:
            session = open_session(self._vault, access_key, token.decode("latin-1"))
        except SealError:
            return None
        grants = session_grants(self._store.directory, session)
        if grants is None:
            return None
        return Credential(access_key, session.secret, grants, expires_at=session.expires_at)


def _stand_still() -> int:
    return 0


def _same(expected: bytes | None, given: bytes | None) -> bool:
    if expected is None or given is None:
        return expected is given
    return hmac.compare_digest(expected, given)
