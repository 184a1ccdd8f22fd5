"""Principals: who makes a request, and the Principal element of resource policies.

A resource policy can name a principal in three ways, which give different rights:

- directly: `*`, the ARN of the user, or the ARN of the session. Enough by itself in the account.
- its role (or, for a federated user, the user behind it): cut by boundaries and session policies.
- its account: only says that the account's own policies decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, final

PRINCIPAL_KEYS: Final = frozenset(
    {
        "aws:principalaccount",
        "aws:principalarn",
        "aws:principaltype",
        "aws:userid",
        "aws:username",
    }
)
"""Condition keys that depend on nothing but the principal; so do its tags."""

_TAG_KEY: Final = "aws:principaltag/"


def is_of_principal(key: str) -> bool:
    """Tell whether a condition key depends on nothing but the principal."""
    return key in PRINCIPAL_KEYS or key.startswith(_TAG_KEY)


@final
class Principal:
    """Who makes a request, as policies see it.

    `arn` is the user, the root of an account, or a session. `issuer_arn` is the role of a session,
    or the user behind a federated session, else empty. `keys` are the condition keys above.
    """

    __slots__ = ("account", "arn", "is_root", "issuer_arn", "keys")

    def __init__(
        self, arn: str, account: str, issuer_arn: str = "", keys: Mapping[str, str] | None = None
    ) -> None:
        self.arn = arn
        self.account = account
        self.issuer_arn = issuer_arn
        self.is_root = arn == root_arn(account)
        self.keys: dict[str, str] = dict(keys or {})


def root_arn(account: str) -> str:
    """Return the ARN of an account's root user, which also stands for the whole account."""
    return f"arn:aws:iam::{account}:root"


class Naming(IntEnum):
    """How a Principal element names a principal; a greater one gives more."""

    NONE = 0
    ACCOUNT = 1
    ISSUER = 2
    DIRECT = 3


@final
class PrincipalElement:
    """The value of Principal or NotPrincipal."""

    __slots__ = ("_arns", "is_everybody", "services")

    def __init__(
        self, arns: frozenset[str], services: frozenset[str], *, is_everybody: bool
    ) -> None:
        self._arns = arns
        self.services = services
        self.is_everybody = is_everybody

    @property
    def arns(self) -> frozenset[str]:
        """The ARNs named; account ids are written as the ARN of their root."""
        return self._arns

    def naming(self, principal: Principal) -> Naming:
        """Return how the element names a principal."""
        if self.is_everybody or principal.arn in self._arns:
            return Naming.DIRECT
        if principal.issuer_arn and principal.issuer_arn in self._arns:
            return Naming.ISSUER
        return Naming.ACCOUNT if root_arn(principal.account) in self._arns else Naming.NONE

    def excepts(self, principal: Principal) -> bool:
        """Tell whether a principal is one of those that a NotPrincipal element leaves out.

        The root of an account stands for itself here: AWS wants it listed beside its users.
        """
        return (
            self.is_everybody
            or principal.arn in self._arns
            or (principal.issuer_arn != "" and principal.issuer_arn in self._arns)
        )
