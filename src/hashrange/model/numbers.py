"""DynamoDB numbers as canonical text: plain decimal, no exponent, no superfluous zeros, no "-0".

Promises: `normalize` accepts every spelling DynamoDB accepts and gives one text per value; the
other functions take canonical text only and are exact. A number has up to 38 significant digits
and a magnitude between 1E-130 and 9.9...E+125.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from typing import Final

from hashrange.errors import ValidationException
from hashrange.limits import (
    NUMBER_BYTES_MAX,
    NUMBER_DIGITS_MAX,
    NUMBER_EXPONENT_MAX,
    NUMBER_EXPONENT_MIN,
)

# Text that is already canonical; `normalize` parses everything else.
is_canonical: Final = re.compile(
    r"-?(?:[1-9][0-9]{0,37}|[1-9][0-9]{0,18}\.[0-9]{0,18}[1-9]|0\.[0-9]{0,37}[1-9])|0", re.ASCII
).fullmatch
_parse: Final = re.compile(
    r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?)([0-9]+))?"
).fullmatch

_NOT_A_NUMBER: Final = "The parameter cannot be converted to a numeric value"
_TOO_MANY_DIGITS: Final = "Attempting to store more than 38 significant digits in a Number"
_OVERFLOW: Final = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
_UNDERFLOW: Final = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)

# Wide enough for the exact sum of the largest and the smallest number.
_exact: Final = Context(prec=300, Emin=-999, Emax=999)


def normalize(text: str) -> str:
    """Return the canonical text of a number, or raise ValidationException in AWS's words."""
    if is_canonical(text):
        return text
    sign, digits, exponent = _read(text)
    if not digits:
        _check_exponent(exponent)
        return "0"
    if len(digits) > NUMBER_DIGITS_MAX:
        raise ValidationException(_TOO_MANY_DIGITS)
    _check_exponent(exponent)
    return sign + plain(digits, exponent)


def older_refusal(text: str) -> str:
    """Return how AWS's older checks, those of batch writes, refuse a text `normalize` refuses.

    They read a number as java.math.BigDecimal does, whose exponent and scale are 32-bit integers:
    a larger one is no number at all, and one at the edge wraps round and looks like an underflow.
    """
    if not text:
        return _NOT_A_NUMBER
    try:
        _, digits, exponent = _read(text)
    except ValidationException as error:
        return error.message
    written = int(text.upper().partition("E")[2] or "0")
    scale = max(len(digits), 1) - 1 - exponent
    if not (-(2**31) <= scale < 2**31 and -(2**31) <= written < 2**31):
        return f"{_NOT_A_NUMBER}: {text}"
    if len(digits) > NUMBER_DIGITS_MAX:
        return _TOO_MANY_DIGITS
    return _UNDERFLOW if exponent < 0 or exponent + 1 >= 2**31 else _OVERFLOW


def _read(text: str) -> tuple[str, str, int]:
    """Split into sign, significant digits ("" for zero) and the exponent of the first digit."""
    match = _parse(text)
    if match is None:
        raise ValidationException(f"{_NOT_A_NUMBER}: {text}")
    sign, whole, fraction, bare_fraction, exponent_sign, exponent_digits = match.groups()
    whole = whole or ""
    fraction = fraction or bare_fraction or ""
    exponent = 0
    if exponent_digits:
        exponent_digits = exponent_digits.lstrip("0")
        # An exponent that does not fit in 64 bits is no number; the test on the length keeps
        # int() away from texts of any size.
        if len(exponent_digits) > 19:
            raise ValidationException(f"{_NOT_A_NUMBER}: {text}")
        exponent = int(exponent_sign + (exponent_digits or "0"))
        if not -(2**63) <= exponent < 2**63:
            raise ValidationException(f"{_NOT_A_NUMBER}: {text}")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        # Zero is checked by the exponent it is written with: 0e126 overflows.
        return "", "", exponent - len(fraction)
    exponent += len(digits) - len(fraction) - 1
    return "-" if sign == "-" else "", digits.rstrip("0"), exponent


def _check_exponent(exponent: int) -> None:
    if exponent > NUMBER_EXPONENT_MAX:
        raise ValidationException(_OVERFLOW)
    if exponent < NUMBER_EXPONENT_MIN:
        raise ValidationException(_UNDERFLOW)


def plain(digits: str, exponent: int) -> str:
    """Write significant digits, the first of which counts 10 ** exponent, as canonical text."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole_digits = exponent + 1
    if len(digits) <= whole_digits:
        return digits + "0" * (whole_digits - len(digits))
    return digits[:whole_digits] + "." + digits[whole_digits:]


def compare(left: str, right: str) -> int:
    """Return -1, 0 or 1 as `left` is less than, equal to or greater than `right`."""
    if left == right:
        return 0
    if left.isdecimal() and right.isdecimal():
        # Without a sign or leading zeros, the longer one is greater.
        if len(left) != len(right):
            return -1 if len(left) < len(right) else 1
        return -1 if left < right else 1
    if "." in left or "." in right:
        return -1 if Decimal(left) < Decimal(right) else 1
    return -1 if int(left) < int(right) else 1


def add(left: str, right: str) -> str:
    """Return left + right, or raise ValidationException when the result cannot be stored."""
    if "." in left or "." in right:
        return _store(format(_exact.add(Decimal(left), Decimal(right)), "f"))
    return _store(str(int(left) + int(right)))


def subtract(left: str, right: str) -> str:
    """Return left - right, or raise ValidationException when the result cannot be stored."""
    if "." in left or "." in right:
        return _store(format(_exact.subtract(Decimal(left), Decimal(right)), "f"))
    return _store(str(int(left) - int(right)))


def _store(text: str) -> str:
    """Return the canonical text of a result; AWS says of any it cannot store that it overflows."""
    try:
        return normalize(text)
    except ValidationException:
        raise ValidationException(_OVERFLOW) from None


def size(text: str) -> int:
    """Return the bytes DynamoDB counts for a number.

    One byte, and one for each digit of the number in base 100, which pairs the decimal digits off
    from the decimal point in both directions; leading and trailing zero pairs are free. A negative
    number takes one more, except when it is as long as a number can be.
    """
    if text.isdecimal() and text[-1] != "0":
        return (len(text) + 3) // 2
    if text == "0":
        return 1
    whole, point, fraction = text.partition(".")
    if point and whole != "0" and whole.isdecimal():
        return min(1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2, NUMBER_BYTES_MAX)
    negative = text[0] == "-"
    whole_digits = len(whole) - negative
    if not point:
        zeros = len(whole) - len(whole.rstrip("0")) if whole[-1] == "0" else 0
        pairs = (whole_digits + 1) // 2 - zeros // 2
    elif whole[-1] == "0" and whole_digits == 1:
        zeros = len(fraction) - len(fraction.lstrip("0"))
        pairs = (len(fraction) + 1) // 2 - zeros // 2
    else:
        pairs = (whole_digits + 1) // 2 + (len(fraction) + 1) // 2
    return min(1 + pairs + negative, NUMBER_BYTES_MAX)
