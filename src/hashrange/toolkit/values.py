"""Python values to DynamoDB attribute values and back, without loss.

    int, Decimal                N, if it has at most 38 digits; nothing is rounded
    float                       refused, because it is not exact, unless `floats` allows it:
                                then the shortest decimal that reads back as the same float
    str, UUID, Enum (its value) S or what the value is
    datetime, date              S, ISO 8601; datetimes in UTC, so that text order is time order
    bytes, bytearray            B
    bool, None                  BOOL, NULL
    set, frozenset              SS, NS or BS
    list, tuple                 L
    mapping, dataclass, Pydantic M

Reading back, N is an int if it is whole, else a Decimal. B is bytes. Sets are sets.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from hashrange.toolkit.design.templates import iso_text
from hashrange.toolkit.errors import ConversionError
from hashrange.toolkit.models import fields_of, is_uuid

Wire = dict[str, Any]
"""An attribute value as in the API: {"S": "text"}."""

Item = dict[str, Wire]
"""An item as in the API: attribute names to attribute values."""

_DIGITS_MAX: Final = 38
_EXACT: Final = decimal.Context(
    prec=_DIGITS_MAX,
    Emin=-130,
    Emax=125,
    traps=[decimal.Inexact, decimal.Rounded, decimal.Overflow, decimal.Underflow, decimal.Clamped],
)


def to_wire(value: Any, *, floats: bool = False) -> Wire:
    """Return a Python value as an attribute value; ConversionError if it has no exact form."""
    simple = _scalar_to_wire(value, floats=floats)
    if simple is not None:
        return simple
    if isinstance(value, set | frozenset):
        return _set_to_wire(value, floats=floats)
    if isinstance(value, list | tuple):
        return {"L": [to_wire(each, floats=floats) for each in value]}
    return {"M": to_wire_item(fields_of(value), floats=floats)}


def to_wire_item(values: Mapping[str, Any], *, floats: bool = False) -> Item:
    """Return a mapping as an item; the error names the attribute that cannot be converted."""
    item: Item = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise ConversionError(f"attribute names are text, not {name!r}")
        try:
            item[name] = to_wire(value, floats=floats)
        except ConversionError as error:
            raise ConversionError(f"{name}: {error}") from error
    return item


def from_wire(value: Wire) -> Any:
    """Return an attribute value as a Python value."""
    ((kind, content),) = value.items()
    if kind in ("S", "BOOL"):
        return content
    if kind == "N":
        return number_of(content)
    if kind == "NULL":
        return None
    if kind == "B":
        return bytes(content)
    if kind == "L":
        return [from_wire(each) for each in content]
    if kind == "M":
        return from_wire_item(content)
    if kind == "SS":
        return set(content)
    if kind == "NS":
        return {number_of(each) for each in content}
    if kind == "BS":
        return {bytes(each) for each in content}
    raise ConversionError(f"there is no attribute value of type {kind}")


def from_wire_item(item: Mapping[str, Wire]) -> dict[str, Any]:
    """Return an item as a mapping of Python values."""
    return {name: from_wire(value) for name, value in item.items()}


def number_of(text: str) -> int | Decimal:
    """Return the number of an N: an int if it is whole, else a Decimal."""
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def number_text(value: int | Decimal) -> str:
    """Return a number as the text of an N; ConversionError if DynamoDB cannot hold it exactly."""
    number = Decimal(value)
    if not number.is_finite():
        raise ConversionError(f"{value} is no number DynamoDB can hold")
    try:
        exact = _EXACT.create_decimal(number)
    except decimal.DecimalException as error:
        raise ConversionError(
            f"{value} has more than {_DIGITS_MAX} digits or is out of DynamoDB's range"
        ) from error
    return str(exact)


def _scalar_to_wire(value: Any, *, floats: bool) -> Wire | None:
    if isinstance(value, Enum):
        return to_wire(value.value, floats=floats)
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, bool):
        return {"BOOL": value}
    if value is None:
        return {"NULL": True}
    if isinstance(value, int | Decimal):
        return {"N": number_text(value)}
    if isinstance(value, float):
        return {"N": _float_text(value, floats=floats)}
    if isinstance(value, bytes | bytearray):
        return {"B": bytes(value)}
    if isinstance(value, datetime):
        return {"S": iso_text(value)}
    if isinstance(value, date):
        return {"S": value.isoformat()}
    return {"S": str(value)} if is_uuid(type(value)) else None


def _float_text(value: float, *, floats: bool) -> str:
    if not floats:
        raise ConversionError(
            f"the float {value!r} is not exact: use Decimal({str(value)!r}), "
            "or allow floats for this client"
        )
    return number_text(Decimal(repr(value)))


def _set_to_wire(value: set[Any] | frozenset[Any], *, floats: bool) -> Wire:
    if not value:
        raise ConversionError("DynamoDB has no empty sets: leave the attribute out")
    members = [to_wire(each, floats=floats) for each in value]
    kinds = {kind for member in members for kind in member}
    kind = kinds.pop()
    if kinds or kind not in ("S", "N", "B"):
        raise ConversionError("the members of a set are all texts, all numbers or all bytes")
    return {f"{kind}S": sorted(member[kind] for member in members)}
