"""The order of sets: DynamoDB gives their members back sorted, however they were written."""

from __future__ import annotations

from binascii import a2b_base64
from decimal import Decimal


def sort_members(kind: str, members: list[str]) -> None:
    """Sort the members of a set in place: strings and binary by bytes, numbers by value."""
    if len(members) < 2:
        return
    if kind == "SS":
        # Code points have the order of their bytes in UTF-8.
        members.sort()
    elif kind == "NS":
        members.sort(key=Decimal)
    else:
        members.sort(key=a2b_base64)
