"""What is kept of identities: users, groups and roles, managed policies, and access keys.

A row is a record as JSON. ARNs are not kept: they follow from account, kind, path and name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

import orjson

from hashrange.errors import CorruptionError

Kind = Literal["user", "group", "role"]

ID_PREFIXES: Final = {"user": "AIDA", "group": "AGPA", "role": "AROA", "policy": "ANPA"}
"""What the unique ids of each kind begin with."""

AWS_ACCOUNT: Final = "aws"
"""Where the policies are that AWS itself manages."""

SECRETS: Final = "access keys"
"""The purpose that secrets of access keys are sealed for."""


@dataclass(slots=True)
class Identity:
    """A user, group or role; `trust` is a role's, `groups` a user's."""

    kind: Kind
    account: str
    name: str
    path: str
    id: str
    created_at: float
    inline: dict[str, str] = field(default_factory=dict)  # documents by name
    attached: list[str] = field(default_factory=list)  # ARNs of managed policies
    boundary: str | None = None  # ARN of a managed policy
    tags: dict[str, str] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    trust: str = ""
    description: str = ""
    session_seconds_max: int = 3600

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:{self.kind}{self.path}{self.name}"


@dataclass(slots=True)
class PolicyVersion:
    """One version of a managed policy."""

    document: str
    created_at: float


@dataclass(slots=True)
class ManagedPolicy:
    """A policy that identities can be attached to; versions are named v1, v2 and so on."""

    account: str
    name: str
    path: str
    id: str
    created_at: float
    updated_at: float
    versions: dict[str, PolicyVersion]
    default: str
    next_version: int = 2
    description: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:policy{self.path}{self.name}"

    @property
    def document(self) -> str:
        """The document in force."""
        return self.versions[self.default].document


@dataclass(slots=True)
class AccessKey:
    """A long-term access key of a user; the secret is sealed, see `vault`."""

    id: str
    account: str
    user: str
    created_at: float
    sealed_secret: str
    is_active: bool = True


Record = Identity | ManagedPolicy | AccessKey

_R = TypeVar("_R", Identity, ManagedPolicy, AccessKey)


def pack(record: Record) -> bytes:
    """Return the row of a record."""
    return orjson.dumps(record)


def unpack(kind: type[_R], row: bytes) -> _R:
    """Return the record of a row."""
    try:
        members = orjson.loads(row)
        if kind is ManagedPolicy:
            members["versions"] = {
                name: PolicyVersion(**version) for name, version in members["versions"].items()
            }
        return kind(**members)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise CorruptionError(f"row is not a {kind.__name__}: {row[:40]!r}") from error
