"""Accounts of access keys, and the callers that are the root of an account."""

from __future__ import annotations

import re

from hashrange.api.scope import Caller

DEFAULT_ACCOUNT = "000000000000"

_ACCOUNT_ID = re.compile(r"[0-9]{12}")


def account_of(access_key: str) -> str:
    """Return the account of an access key: the key itself if it is twelve digits."""
    return access_key if _ACCOUNT_ID.fullmatch(access_key) else DEFAULT_ACCOUNT


def root_caller(access_key: str, account: str, region: str, signing_name: str) -> Caller:
    """Return the root of an account as the caller of a request."""
    return Caller(access_key, account, f"arn:aws:iam::{account}:root", region, signing_name)
