"""Sessions: temporary credentials whose token says everything about them, sealed.

token := Session as JSON, deflated, sealed by the vault for its access key id

A token is verified without a look-up. What its role or user may do is looked up with each request,
so a change of their policies, or their deletion, takes effect at once.
"""

from __future__ import annotations

import secrets
import string
import zlib
from dataclasses import dataclass, field
from typing import Final, final

import orjson

from hashrange.identities.directory import Directory, tag_keys
from hashrange.identities.records import Identity
from hashrange.policies.documents import Kind, MalformedPolicyError, compile_policy
from hashrange.policies.evaluation import Grants
from hashrange.policies.principals import Principal, root_arn
from hashrange.policies.statements import Policy
from hashrange.sealing import SealError, Vault

_PURPOSE: Final = "session tokens"
_TOKEN_BYTES_MAX: Final = 16_384
_PAYLOAD_BYTES_MAX: Final = 65_536
_ID_LETTERS: Final = string.ascii_uppercase + "234567"
_SECRET_LETTERS: Final = string.ascii_letters + string.digits + "+/"


@dataclass(slots=True)
class Session:
    """What a token says. `kind` is "role", "user" (GetSessionToken) or "federated"."""

    kind: str
    account: str
    name: str  # of the role or user; empty for the root of the account
    id: str  # the unique id of the role or user, so that a namesake does not inherit
    session_name: str
    secret: str
    issued_at: float
    expires_at: float
    policies: list[str] = field(default_factory=list)  # documents
    policy_arns: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)


def new_access_key_id(prefix: str) -> str:
    """Return a new id of 20 characters: AKIA for long-term keys, ASIA for temporary ones."""
    return prefix + "".join(secrets.choice(_ID_LETTERS) for _ in range(20 - len(prefix)))


def new_unique_id(prefix: str) -> str:
    """Return a new unique id of 21 characters."""
    return prefix + "".join(secrets.choice(_ID_LETTERS) for _ in range(21 - len(prefix)))


def new_secret() -> str:
    """Return a new secret access key of 40 characters."""
    return "".join(secrets.choice(_SECRET_LETTERS) for _ in range(40))


def seal_session(vault: Vault, access_key_id: str, session: Session) -> str:
    """Return the token of a session."""
    return vault.seal(_PURPOSE, access_key_id, zlib.compress(orjson.dumps(session)))


def open_session(vault: Vault, access_key_id: str, token: str) -> Session:
    """Return the session of a token, or raise SealError."""
    if len(token) > _TOKEN_BYTES_MAX:
        raise SealError
    content = vault.open(_PURPOSE, access_key_id, token)
    payload = zlib.decompressobj().decompress(content, _PAYLOAD_BYTES_MAX)
    return Session(**orjson.loads(payload))


def session_arn(session: Session) -> str:
    """Return the ARN of a session's principal."""
    account = session.account
    if session.kind == "role":
        return f"arn:aws:sts::{account}:assumed-role/{session.name}/{session.session_name}"
    if session.kind == "federated":
        return f"arn:aws:sts::{account}:federated-user/{session.session_name}"
    return root_arn(account)


def session_user_id(session: Session) -> str:
    """Return the user id of a session's principal, as GetCallerIdentity shows it."""
    if session.kind == "federated":
        return f"{session.account}:{session.session_name}"
    return f"{session.id}:{session.session_name}" if session.kind == "role" else session.account


def session_grants(directory: Directory, session: Session) -> Grants | None:
    """Return a session as a principal with its policies, None if its role or user is gone."""
    return _SessionGrants(directory, session).make()


@final
class _SessionGrants:
    def __init__(self, directory: Directory, session: Session) -> None:
        self._directory = directory
        self._session = session

    def make(self) -> Grants | None:
        session, directory = self._session, self._directory
        if not session.name:
            return self._of_root()
        kind = "role" if session.kind == "role" else "user"
        issuer = directory.identity(
            "role" if kind == "role" else "user", session.account, session.name
        )
        if issuer is None or issuer.id != session.id:
            return None
        if session.kind == "user":
            # The user itself, with what tokens add to the keys.
            grants = directory.user_grants(issuer)
            principal = Principal(
                issuer.arn, issuer.account, keys={**grants.principal.keys, **self._times()}
            )
            return Grants(principal, grants.identity, grants.boundary)
        policies = directory.policies_of(issuer)
        boundary = directory.boundary_of(issuer)
        return Grants(self._principal(issuer), policies, boundary, self._session_policies())

    def _of_root(self) -> Grants:
        session = self._session
        arn = session_arn(session)
        everything = self._directory.attached_policy("arn:aws:iam::aws:policy/AdministratorAccess")
        keys = {
            "aws:principalarn": arn,
            "aws:principaltype": "FederatedUser" if session.kind == "federated" else "Account",
            "aws:principalaccount": session.account,
            "aws:userid": session_user_id(session),
            **tag_keys(session.tags),
            **self._times(),
        }
        issuer = root_arn(session.account) if session.kind == "federated" else ""
        return Grants(
            Principal(arn, session.account, issuer, keys),
            [everything],
            None,
            self._session_policies(),
        )

    def _principal(self, issuer: Identity) -> Principal:
        session = self._session
        is_role = session.kind == "role"
        arn = session_arn(session)
        keys = {
            "aws:principalarn": issuer.arn if is_role else arn,
            "aws:principaltype": "AssumedRole" if is_role else "FederatedUser",
            "aws:principalaccount": session.account,
            "aws:userid": session_user_id(session),
            **tag_keys(issuer.tags),
            **tag_keys(session.tags),
            **self._times(),
        }
        return Principal(arn, session.account, issuer.arn, keys)

    def _times(self) -> dict[str, str]:
        return {
            "aws:multifactorauthpresent": "false",
            "aws:tokenissuetime": str(int(self._session.issued_at)),
        }

    def _session_policies(self) -> list[Policy] | None:
        """Return the policies of the session; a federated one without any may do nothing."""
        session = self._session
        if not session.policies and not session.policy_arns:
            return [] if session.kind == "federated" else None
        found = [self._directory.attached_policy(arn) for arn in session.policy_arns]
        for document in session.policies:
            try:
                found.append(compile_policy(document, Kind.SESSION, "session"))
            except MalformedPolicyError:
                found.append(Policy("", []))
        return found
