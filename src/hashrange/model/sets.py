"""The members of sets: their order, which is sorted however they were written, and duplicates."""

from __future__ import annotations

from binascii import a2b_base64
from decimal import Decimal
from typing import Final

# Of the members of a set in an error text.
_ECHO_CHARACTERS_MAX: Final = 100_000


def sort_members(kind: str, members: list[str]) -> None:
    """Sort the members of a set in place: strings and binary by bytes, numbers by value."""
    if len(members) < 2:
        return
    if kind == "SS":
        # Sorting by code points equals sorting by UTF-8 bytes.
        members.sort()
    elif kind == "NS":
        try:
            members.sort(key=int)  # five times as fast
        except ValueError:
            members.sort(key=Decimal)
    else:
        members.sort(key=a2b_base64)


def duplicates_texts(kind: str, members: list[str]) -> tuple[str, str]:
    """Return how each of AWS's two layers of checks says that members occur twice.

    The current one lists the members up to the first repeat in byte order, then the rest as sent.
    """
    if kind == "NS":
        plain = "Input collection contains duplicates"
        return f"{plain}.", plain
    seen: set[str] = set()
    repeat = 0
    while members[repeat] not in seen:
        seen.add(members[repeat])
        repeat += 1
    of_type, separator = ("of type BS", ",") if kind == "BS" else ("", ", ")
    ordered = sorted(members[:repeat], key=a2b_base64 if kind == "BS" else str.encode)
    current = separator.join(f'"{member}"' for member in ordered + members[repeat:])
    older = ", ".join(members)
    return (
        f"Input collection [{current[:_ECHO_CHARACTERS_MAX]}]{of_type} contains duplicates.",
        f"Input collection [{older[:_ECHO_CHARACTERS_MAX]}]{of_type} contains duplicates.",
    )
