"""What is kept of KMS keys, of their aliases, and of deleted keys.

A row is a record as JSON. The material of a key, 32 random bytes for each rotation, is sealed under
the root key of the data directory; without that, and after the row is deleted, it is gone for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import orjson

from hashrange.errors import CorruptionError

State = Literal["Enabled", "Disabled", "PendingDeletion"]

DAY_SECONDS: Final = 86_400


@dataclass(slots=True)
class Material:
    """One generation of a key's material."""

    sealed: str
    created_at: float
    is_on_demand: bool = False


@dataclass(slots=True)
class Grant:
    """A permission to use a key that was given to one principal."""

    id: str
    token: str
    grantee: str
    operations: list[str]
    created_at: float
    issuer: str
    name: str = ""
    retiring: str = ""
    context_equals: dict[str, str] | None = None
    context_subset: dict[str, str] | None = None

    def permits(self, operation: str, arns: tuple[str, ...], context: dict[str, str]) -> bool:
        """Tell whether one of these principals may perform an operation with a context."""
        if operation not in self.operations or self.grantee not in arns:
            return False
        if self.context_equals is not None and context != self.context_equals:
            return False
        subset = self.context_subset or {}
        return all(context.get(name) == value for name, value in subset.items())


@dataclass(slots=True)
class Key:
    """A symmetric key."""

    id: str
    account: str
    region: str
    created_at: float
    policy: str
    materials: list[Material]
    state: State = "Enabled"
    deletion_at: float = 0.0
    description: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    grants: list[Grant] = field(default_factory=list)
    rotation_days: int = 0  # 0: it is not rotated by itself
    rotation_from: float = 0.0  # when automatic rotation was enabled
    is_aws_managed: bool = False
    closed_at: float = 0.0  # since when it cannot be used; 0: it can, or nobody knows

    @property
    def arn(self) -> str:
        return f"arn:aws:kms:{self.region}:{self.account}:key/{self.id}"

    def close(self, state: State, now: float) -> None:
        """Let the key be used no longer, because of the state it is in from now on."""
        if self.state == "Enabled":
            self.closed_at = now
        self.state = state

    def reopen(self) -> None:
        """Let the key be used again."""
        self.state = "Enabled"
        self.closed_at = 0.0

    def is_gone(self, now: float) -> bool:
        """Tell whether the time of its deletion has come."""
        return self.state == "PendingDeletion" and self.deletion_at <= now

    def next_rotation(self) -> float:
        """Return when it is to be rotated; 0 if it is not."""
        if not self.rotation_days:
            return 0.0
        automatic = [made.created_at for made in self.materials[1:] if not made.is_on_demand]
        since = max([self.rotation_from, *automatic])
        return since + self.rotation_days * DAY_SECONDS


@dataclass(slots=True)
class Alias:
    """A name of a key, which begins with `alias/`."""

    name: str
    account: str
    region: str
    key_id: str
    created_at: float
    updated_at: float

    @property
    def arn(self) -> str:
        return f"arn:aws:kms:{self.region}:{self.account}:{self.name}"


@dataclass(slots=True)
class Grave:
    """What is left of a key that was deleted: since when its tables are closed."""

    closed_at: float


Record = Key | Alias | Grave


def pack(record: Record) -> bytes:
    """Return the row of a record."""
    return orjson.dumps(record)


def unpack_key(row: bytes) -> Key:
    """Return the key of a row."""
    members = _members(row)
    members["materials"] = [Material(**made) for made in members["materials"]]
    members["grants"] = [Grant(**grant) for grant in members["grants"]]
    return Key(**members)


def unpack_alias(row: bytes) -> Alias:
    """Return the alias of a row."""
    return Alias(**_members(row))


def unpack_grave(row: bytes) -> Grave:
    """Return what is left of a deleted key."""
    return Grave(**_members(row))


def _members(row: bytes) -> dict[str, Any]:
    try:
        members = orjson.loads(row)
    except orjson.JSONDecodeError as error:
        raise CorruptionError(f"row is not a record of a key: {row[:80]!r}") from error
    assert isinstance(members, dict)
    return members
