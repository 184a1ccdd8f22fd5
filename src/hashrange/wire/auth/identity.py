"""The caller of a request: a principal, in the region of its credential scope."""

from __future__ import annotations

import re
from typing import final

from hashrange.api.scope import Principal

DEFAULT_ACCOUNT = "000000000000"

_ACCOUNT_ID = re.compile(r"[0-9]{12}")


@final
class Identity:
    """A principal and the region and service it signed for.

    `world` is account and region: the tables of one world are isolated from those of all others.
    """

    __slots__ = ("principal", "region", "signing_name", "world")

    def __init__(self, principal: Principal, region: str, signing_name: str) -> None:
        self.principal = principal
        self.region = region
        self.signing_name = signing_name
        self.world = (principal.account, region)


def root_of(access_key: str, account: str) -> Principal:
    """Return the root principal of an account."""
    return Principal(access_key, account, f"arn:aws:iam::{account}:root")


def account_of(access_key: str) -> str:
    """Return the account an access key names: twelve digits are an account id themselves."""
    return access_key if _ACCOUNT_ID.fullmatch(access_key) else DEFAULT_ACCOUNT
