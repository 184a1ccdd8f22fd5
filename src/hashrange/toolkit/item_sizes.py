"""The size of items as DynamoDB counts it, for limits, capacity units and estimates."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import ceil
from typing import Any, Final

from hashrange.toolkit.values import Item

ITEM_BYTES_MAX: Final = 400 * 1024
NUMBER_BYTES_MAX: Final = 21


def item_bytes(item: Item) -> int:
    """Return the size of an item: names and values."""
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


def value_bytes(value: Mapping[str, Any]) -> int:
    """Return the size of an attribute value."""
    ((kind, content),) = value.items()
    if kind == "S":
        return len(str(content).encode())
    if kind == "N":
        return number_bytes(content)
    if kind == "B":
        return len(content)
    if kind in ("BOOL", "NULL"):
        return 1
    if kind == "L":
        return 3 + sum(1 + value_bytes(each) for each in content)
    if kind == "M":
        return 3 + sum(1 + len(k.encode()) + value_bytes(v) for k, v in content.items())
    return sum(value_bytes({kind[0]: each}) for each in content)


def number_bytes(text: str) -> int:
    """Return the size of a number: a byte, one for each digit in base 100, one for a minus sign."""
    parts = Decimal(text).as_tuple()  # not normalize(), which rounds to the context's precision
    digits = "".join(map(str, parts.digits)).lstrip("0")
    if not digits:
        return 1
    last = int(parts.exponent) + len(digits) - len(digits.rstrip("0"))
    first = int(parts.exponent) + len(digits) - 1
    pairs = first // 2 - last // 2 + 1
    return min(1 + pairs + parts.sign, NUMBER_BYTES_MAX)


def read_units(size: int, *, consistent: bool = False) -> float:
    """Return the capacity units of reading so many bytes at once."""
    return max(1, ceil(size / 4096)) * (1.0 if consistent else 0.5)


def write_units(size: int) -> int:
    """Return the capacity units of writing an item of so many bytes."""
    return max(1, ceil(size / 1024))
