"""Who asks: the account and the region a request acts in."""

from __future__ import annotations

import re
from typing import final

DEFAULT_ACCOUNT = "000000000000"

_ACCOUNT_ID = re.compile(r"[0-9]{12}")


@final
class Identity:
    """An access key seen in a region; every account and region is a world of its own."""

    __slots__ = ("access_key", "account", "region", "world")

    def __init__(self, access_key: str, account: str, region: str) -> None:
        self.access_key = access_key
        self.account = account
        self.region = region
        self.world = (account, region)


def account_of(access_key: str) -> str:
    """Return the account an access key names: twelve digits are an account id themselves."""
    return access_key if _ACCOUNT_ID.fullmatch(access_key) else DEFAULT_ACCOUNT
