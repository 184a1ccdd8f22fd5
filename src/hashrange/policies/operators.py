"""Condition operators: how one value of a request is held against one value of a policy.

A policy value that is not of the operator's type matches nothing; neither does such a value of a
request. Operators whose names say "Not" are the negation of others and need no code of their own.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, final

from hashrange.policies.patterns import ContextValues, Pattern, Syntax

_ARN_PARTS: Final = 6
_EPOCH: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]+)?")


class Expected:
    """One value of a condition, prepared for comparison."""

    __slots__ = ()

    def matches(self, value: str, context: ContextValues) -> bool | None:
        """Tell whether a value of a request matches; None if a variable has no value."""
        raise NotImplementedError


@final
class ExpectedText(Expected):
    """A text: equal, equal but for case, or like a pattern."""

    __slots__ = ("_pattern",)

    def __init__(self, text: str, syntax: Syntax, *, has_variables: bool) -> None:
        self._pattern = Pattern(text, syntax, has_variables=has_variables)

    def matches(self, value: str, context: ContextValues) -> bool | None:
        return self._pattern.matches(value, context)


@final
class ExpectedCaselessText(Expected):
    """A text, compared without regard to case."""

    __slots__ = ("_pattern",)

    def __init__(self, text: str, *, has_variables: bool) -> None:
        self._pattern = Pattern(text, Syntax.EXACT, has_variables=has_variables)

    def matches(self, value: str, context: ContextValues) -> bool | None:
        pieces = self._pattern.resolve(context)
        if pieces is None:
            return None
        return "".join(text for text, _ in pieces).casefold() == value.casefold()


@final
class ExpectedArn(Expected):
    """An ARN whose parts may have wildcards; the value must have the form of an ARN."""

    __slots__ = ("_pattern",)

    def __init__(self, text: str, *, has_variables: bool) -> None:
        self._pattern = Pattern(text, Syntax.ARN, has_variables=has_variables)

    def matches(self, value: str, context: ContextValues) -> bool | None:
        if not value.startswith("arn:") or value.count(":") < _ARN_PARTS - 1:
            return False
        return self._pattern.matches(value, context)


@final
class ExpectedNumber(Expected):
    """A number; `signs` are the signs of (value - expected) that match."""

    __slots__ = ("_number", "_signs")

    def __init__(self, text: str, signs: tuple[int, ...]) -> None:
        self._number = read_number(text)
        self._signs = signs

    def matches(self, value: str, context: ContextValues) -> bool | None:
        number = read_number(value)
        if number is None or self._number is None:
            return False
        return ((number > self._number) - (number < self._number)) in self._signs


@final
class ExpectedDate(Expected):
    """A moment, in ISO 8601 or as seconds since 1970."""

    __slots__ = ("_seconds", "_signs")

    def __init__(self, text: str, signs: tuple[int, ...]) -> None:
        self._seconds = read_date(text)
        self._signs = signs

    def matches(self, value: str, context: ContextValues) -> bool | None:
        seconds = read_date(value)
        if seconds is None or self._seconds is None:
            return False
        return ((seconds > self._seconds) - (seconds < self._seconds)) in self._signs


@final
class ExpectedBool(Expected):
    """True or false."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text.lower()

    def matches(self, value: str, context: ContextValues) -> bool | None:
        return self._text in ("true", "false") and value.lower() == self._text


@final
class ExpectedBinary(Expected):
    """Bytes in base64."""

    __slots__ = ("_raw",)

    def __init__(self, text: str) -> None:
        self._raw = read_binary(text)

    def matches(self, value: str, context: ContextValues) -> bool | None:
        return self._raw is not None and read_binary(value) == self._raw


@final
class ExpectedAddress(Expected):
    """An IP address or a range of them."""

    __slots__ = ("_network",)

    def __init__(self, text: str) -> None:
        self._network: IPv4Network | IPv6Network | None
        try:
            self._network = ip_network(text, strict=False)
        except ValueError:
            self._network = None

    def matches(self, value: str, context: ContextValues) -> bool | None:
        try:
            return self._network is not None and ip_address(value) in self._network
        except ValueError:
            return False


def read_number(text: str) -> Decimal | None:
    """Return the number of a text, None if it is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def read_date(text: str) -> float | None:
    """Return the seconds since 1970 of a text, None if it is no date."""
    if _EPOCH.fullmatch(text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def read_binary(text: str) -> bytes | None:
    """Return the bytes of a base64 text, None if it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


_SIGNS: Final = {
    "Equals": (0,),
    "LessThan": (-1,),
    "LessThanEquals": (-1, 0),
    "GreaterThan": (1,),
    "GreaterThanEquals": (0, 1),
}


def prepare(operator: str, text: str, *, has_variables: bool) -> Expected:
    """Return a value of a policy, prepared for an operator that is not a negation."""
    if operator == "StringEquals":
        return ExpectedText(text, Syntax.EXACT, has_variables=has_variables)
    if operator == "StringLike":
        return ExpectedText(text, Syntax.TEXT, has_variables=has_variables)
    if operator == "StringEqualsIgnoreCase":
        return ExpectedCaselessText(text, has_variables=has_variables)
    if operator in ("ArnEquals", "ArnLike"):
        return ExpectedArn(text, has_variables=has_variables)
    if operator.startswith("Numeric"):
        return ExpectedNumber(text, _SIGNS[operator[len("Numeric") :]])
    if operator.startswith("Date"):
        return ExpectedDate(text, _SIGNS[operator[len("Date") :]])
    if operator == "BinaryEquals":
        return ExpectedBinary(text)
    if operator == "IpAddress":
        return ExpectedAddress(text)
    assert operator == "Bool", f"{operator} is not an operator"
    return ExpectedBool(text)


NEGATIONS: Final = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "NumericNotEquals": "NumericEquals",
    "DateNotEquals": "DateEquals",
    "NotIpAddress": "IpAddress",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
}
"""Operators that are the negation of another."""

AFFIRMATIONS: Final = frozenset(
    {"Bool", "BinaryEquals", *NEGATIONS.values()}
    | {f"{kind}{sign}" for kind in ("Numeric", "Date") for sign in _SIGNS}
)
"""Operators with code of their own."""

NULL: Final = "Null"
"""The operator that asks whether a key is there."""
