"""Attribute values and items in wire form: checking, normalising and measuring them.

A value is a mapping with one member, its type and its content: {"S": "text"}. Binary content is
base64 text, numbers are text. Values are checked and normalised in place, once, when a request
comes in (`check_item`, `check_values`, `check_value`); everything else trusts them.

AWS checks values in one of two layers with different words, depending on the operation; `wording`
says which one answers:

- BARE: the current words: GetItem, BatchGetItem, Query;
- ENVELOPED: the current words after "1 validation error detected: ": PutItem, UpdateItem,
  DeleteItem;
- OLDER: the words of the older layer: BatchWriteItem, TransactWriteItems, TransactGetItems, Scan.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import Any, Final, final

from hashrange.errors import ClientError, SerializationException, ValidationException
from hashrange.limits import ATTRIBUTE_NAME_BYTES_MAX, NESTING_LEVELS_MAX, NUMBER_DIGITS_MAX
from hashrange.model import numbers
from hashrange.model.nesting import nests_beyond
from hashrange.model.sets import duplicates_texts, sort_members
from hashrange.model.wire_types import base64_refusal, check_types, mistyped

__all__ = [
    "BARE",
    "ENVELOPED",
    "OLDER",
    "Item",
    "Value",
    "check_item",
    "check_name",
    "check_types",
    "check_value",
    "check_values",
    "item_size",
    "type_of",
    "value_size",
]

Value = dict[str, Any]
Item = dict[str, Value]
# What a request calls an item, before it is known to be one.
_Unchecked = dict[str, Any]

BARE: Final = 0
ENVELOPED: Final = 1
OLDER: Final = 2

# What a list or a map costs itself, and for each element it holds.
_COLLECTION_BYTES: Final = 3
_ELEMENT_BYTES: Final = 1

# Numbers of up to so many characters are met again and again: the sizes of those met before. There
# are no more than 13,000 such numbers.
_SHORT_DIGITS: Final = 4
_known_sizes: Final[dict[str, int]] = {}

# Values of one level that are measured before the size so far is looked at.
_PART_VALUES: Final = 8192

_TYPES: Final = frozenset(("S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"))
_SET_MEMBERS: Final = {"SS": "S", "NS": "N", "BS": "B"}

_EMPTY_VALUE: Final = (
    "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
)
_MANY_TYPES: Final = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
_EMPTY_NAME: Final = "Empty attribute name"
_TOO_DEEP: Final = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)
_INVALID: Final = "One or more parameter values were invalid: "
_EMPTY_SETS: Final = {
    "SS": _INVALID + "An string set  may not be empty",
    "NS": _INVALID + "An number set  may not be empty",
    "BS": _INVALID + "Binary sets should not be empty",
}
_NULL_MEMBERS: Final = {
    "SS": _INVALID + "An string set may not have a null string as a member",
    "NS": "The parameter cannot be converted to a numeric value",
    "BS": _INVALID + "Binary sets may not contain null values",
}
_NULL_FALSE: Final = _INVALID + "Null attribute value types must have the value of true"


@final
class _Refusal(Exception):
    """A value refused by the checks whose words differ between AWS's two layers."""

    def __init__(self, current: str, older: str) -> None:
        super().__init__(current)
        self.current = current
        self.older = older

    def worded(self, wording: int) -> ValidationException:
        if wording == ENVELOPED:
            return ValidationException("1 validation error detected: " + self.current)
        return ValidationException(self.older if wording == OLDER else self.current)


def check_item(item: object, wording: int = BARE, bytes_max: int | None = None) -> int:
    """Check and normalise the values of an item or a key in place; return its size in bytes.

    An item larger than `bytes_max` may be measured and checked only as far as needed to know that.
    """
    if type(item) is not dict:
        raise mistyped(item, "Map")
    if "" in item:
        raise ValidationException(_EMPTY_NAME)
    size = _strings_size(item) if len(item) <= 2 else None
    if size is None:
        size = _plain_size(item, bytes_max)
    if size is not None:
        return size
    try:
        return _check_map(item, 1)
    except _Refusal as refusal:
        raise refusal.worded(wording) from None
    except ValidationException as error:
        # A value too deep anywhere is reported before an empty name inside a map.
        if error.message == _EMPTY_NAME and nests_beyond(NESTING_LEVELS_MAX, item):
            raise _Refusal(_TOO_DEEP, _TOO_DEEP).worded(wording) from None
        raise


def check_value(value: object, wording: int = BARE) -> int:
    """Check and normalise one value in place; return its size in bytes."""
    try:
        return _check_value(value, 1)
    except _Refusal as refusal:
        raise refusal.worded(wording) from None


def check_values(values: object, wording: int = BARE) -> int:
    """Check and normalise ExpressionAttributeValues; return the size of names and values."""
    if type(values) is not dict:
        raise mistyped(values, "Map")
    plain = _plain_size(values, None)
    if plain is not None:
        return plain
    size = 0
    for name, value in values.items():
        size += len(name.encode())
        try:
            size += check_value(value, wording)
        except ValidationException as error:
            # The older layer allows one level more; the check that refuses that level names no key.
            if wording != OLDER or (
                error.message == _TOO_DEEP
                and not nests_beyond(NESTING_LEVELS_MAX + 1, {name: value})
            ):
                raise
            raise ValidationException(
                f"ExpressionAttributeValues contains invalid value: {error.message} for key {name}"
            ) from None
    return size


def _strings_size(key: _Unchecked) -> int | None:
    """Return the size of what has only strings, as most keys have, or None.

    The hot loop of every read, twice as fast as the one below.
    """
    size = 0
    for name, value in key.items():
        if type(value) is not dict or len(value) != 1:
            return None
        text = value.get("S")
        if type(text) is not str:
            return None
        text = name + text
        size += len(text) if text.isascii() else len(text.encode())
    return None if size > ATTRIBUTE_NAME_BYTES_MAX else size


def _plain_size(item: _Unchecked, bytes_max: int | None) -> int | None:
    """Return the size of an item with nothing wrong, or None: it has to be looked at closely.

    The hot loop of every write, twice as fast as the close look. It goes from level to level, so no
    value costs a call, and what is text is measured in one piece. Whatever has another type than
    it should raises one of the errors caught here.
    """
    names = list(item)
    texts: list[str] = []
    size = 0
    values: list[Any] = list(item.values())
    try:
        for _ in range(NESTING_LEVELS_MAX):
            nested: list[Any] = []
            for part in [values] if len(values) <= _PART_VALUES else _parts(values):
                for value in part:
                    member: Value = value  # its type makes the compiled loop three times as fast
                    if len(member) != 1:
                        return None
                    if "S" in member:
                        texts.append(member["S"])
                    elif "N" in member:
                        known = _known_sizes.get(member["N"])
                        size += _plain_number(member) if known is None else known
                    elif "M" in member:
                        content: _Unchecked = member["M"]
                        nested += content.values()
                        names += content
                        if "" in content:
                            return None
                        size += _COLLECTION_BYTES + len(content) * _ELEMENT_BYTES
                    elif "L" in member:
                        elements = member["L"]
                        if type(elements) is not list:
                            return None
                        nested += elements
                        size += _COLLECTION_BYTES + len(elements) * _ELEMENT_BYTES
                    elif "BOOL" in member:
                        if type(member["BOOL"]) is not bool:
                            return None
                        size += 1
                    else:
                        size += _plain_rest(member)
                if bytes_max is not None and size > bytes_max:
                    break
            if not nested or (bytes_max is not None and size > bytes_max):
                break
            values = nested
        else:
            return None
        names_size = _texts_size(names)
        size += names_size + _texts_size(texts)
    except (_Refusal, ClientError, TypeError, ValueError, AttributeError):
        return None
    return None if names_size > ATTRIBUTE_NAME_BYTES_MAX else size


def _parts(values: list[Any]) -> list[list[Any]]:
    """Return values in parts, of which a too large item needs only some."""
    return [values[start : start + _PART_VALUES] for start in range(0, len(values), _PART_VALUES)]


def _plain_number(value: Value) -> int:
    """Check a number; return its size, and remember that if the number is a short one."""
    text: str = value["N"]
    whole, point, fraction = text.partition(".")
    if (
        whole.isdecimal()
        and whole[0] != "0"
        and text[-1] != "0"
        and len(text) <= NUMBER_DIGITS_MAX
        and text.isascii()
        and (not point or fraction.isdecimal())
    ):
        # No zeros at its ends: a byte, and one for two digits on each side of the point.
        size = 1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2
    else:
        size = _check_scalar(value, "N", text)
    if len(text) <= _SHORT_DIGITS and value["N"] == text:
        _known_sizes[text] = size
    return size


def _plain_rest(value: Value) -> int:
    """Check a null, a set or binary content; return its size."""
    if type(value) is not dict:
        raise TypeError
    (kind,) = value
    content = value[kind]
    if kind == "SS" and type(content) is list and 0 < len(content) == len(set(content)):
        size = _texts_size(content)
        sort_members(kind, content)
        return size
    if kind in _SET_MEMBERS:
        return _check_set(value, kind, content)
    if kind in _TYPES:
        return _check_scalar(value, kind, content)
    raise ValueError


def _texts_size(texts: list[Any]) -> int:
    """Return the size of texts; raise TypeError when one of them is none."""
    text = "".join(texts)
    return len(text) if text.isascii() else len(text.encode())


def _check_map(content: _Unchecked, level: int) -> int:
    """Check the values of an item or map; return the size of its names and values."""
    size = 0
    for name, value in content.items():
        size += len(name.encode()) + _check_value(value, level)
    if size > ATTRIBUTE_NAME_BYTES_MAX:
        for name in content:
            check_name(name)
    return size


def check_name(name: str) -> None:
    """Refuse an attribute name that is empty or too long."""
    if not name:
        raise ValidationException(_EMPTY_NAME)
    if len(name.encode()) > ATTRIBUTE_NAME_BYTES_MAX:
        raise ValidationException("Attribute name is too large, must be less than 65536 bytes")


def _check_value(value: object, level: int) -> int:
    if level > NESTING_LEVELS_MAX:
        raise _Refusal(_TOO_DEEP, _TOO_DEEP)
    if type(value) is not dict:
        if value is None:
            raise ValidationException(_EMPTY_VALUE)
        raise mistyped(value, "AttributeValue")
    if len(value) != 1:
        return _check_crowd(value, level)
    ((kind, content),) = value.items()
    if content is None or kind not in _TYPES:
        raise ValidationException(_EMPTY_VALUE)
    if kind == "M":
        return _check_nested_map(content, level)
    if kind == "L":
        return _check_list(content, level)
    if kind in _SET_MEMBERS:
        return _check_set(value, kind, content)
    return _check_scalar(value, kind, content)


def _check_crowd(value: Value, level: int) -> int:
    """Check a value that has not exactly one member: null and unknown members do not count."""
    for kind in [kind for kind, content in value.items() if content is None or kind not in _TYPES]:
        del value[kind]
    if not value:
        raise ValidationException(_EMPTY_VALUE)
    size = 0
    for kind, content in value.items():
        single = {kind: content}
        size += _check_value(single, level)
        value[kind] = single[kind]
    if len(value) > 1:
        raise ValidationException(_MANY_TYPES)
    return size


def _check_nested_map(content: object, level: int) -> int:
    if type(content) is not dict:
        raise mistyped(content, "Map")
    if level >= NESTING_LEVELS_MAX and content:
        raise _Refusal(_TOO_DEEP, _TOO_DEEP)
    if "" in content:
        raise ValidationException(_EMPTY_NAME)
    return _COLLECTION_BYTES + len(content) * _ELEMENT_BYTES + _check_map(content, level + 1)


def _check_list(content: object, level: int) -> int:
    if type(content) is not list:
        raise mistyped(content, "List")
    size = _COLLECTION_BYTES + len(content) * _ELEMENT_BYTES
    level += 1
    for element in content:
        size += _check_value(element, level)
    return size


def _check_scalar(value: Value, kind: str, content: object) -> int:
    if kind == "S" or kind == "N":
        if type(content) is not str:
            raise mistyped(content, "String")
        if kind == "S":
            return len(content) if content.isascii() else len(content.encode())
        value["N"] = canonical = _number(content)
        return numbers.size(canonical)
    if kind == "B":
        return _binary_size(content)
    if type(content) is not bool:
        raise mistyped(content, "Boolean")
    if kind == "NULL" and not content:
        raise _Refusal(_NULL_FALSE, _NULL_FALSE)
    return 1


def _number(text: str) -> str:
    try:
        return numbers.normalize(text)
    except ValidationException as error:
        raise _Refusal(error.message, numbers.older_refusal(text)) from None


def _binary_size(content: object) -> int:
    if type(content) is not str:
        raise mistyped(content, "Blob")
    try:
        size = len(a2b_base64(content, strict_mode=True))
    except (Base64Error, ValueError):
        raise SerializationException(base64_refusal(content)) from None
    # The decoder does not look at the bits that padding leaves over.
    if content.endswith("=") and (refusal := base64_refusal(content)):
        raise SerializationException(refusal)
    return size


def _check_set(value: Value, kind: str, content: object) -> int:
    if type(content) is not list:
        raise mistyped(content, "List")
    if not content:
        raise _Refusal(_EMPTY_SETS[kind], _EMPTY_SETS[kind])
    if kind == "NS" and type(content[0]) is str:
        return _check_number_set(content)
    member_kind = _SET_MEMBERS[kind]
    size = 0
    for position, member in enumerate(content):
        if member is None:
            raise ValidationException(_NULL_MEMBERS[kind])
        single = {member_kind: member}
        size += _check_scalar(single, member_kind, member)
        content[position] = single[member_kind]
    if len(set(content)) != len(content):
        raise _duplicates(kind, content)
    sort_members(kind, content)
    return size


def _check_number_set(content: list[Any]) -> int:
    """Check a set of numbers; without the steps that other types need."""
    size = 0
    for position, member in enumerate(content):
        if type(member) is not str:
            if member is None:
                raise ValidationException(_NULL_MEMBERS["NS"])
            raise mistyped(member, "String")
        canonical = member if numbers.is_canonical(member) else _number(member)
        content[position] = canonical
        size += numbers.size(canonical)
    if len(set(content)) != len(content):
        raise _duplicates("NS", content)
    sort_members("NS", content)
    return size


def _duplicates(kind: str, members: list[str]) -> _Refusal:
    current, older = duplicates_texts(kind, members)
    if kind == "NS":
        return _Refusal(_INVALID + current, older)
    return _Refusal(_INVALID + current, _INVALID + older)


def item_size(item: Item) -> int:
    """Return the size of a trusted item: its names in UTF-8 and its values."""
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else len(name.encode())
        if "S" in value:
            text = value["S"]
            size += len(text) if text.isascii() else len(text.encode())
        else:
            size += value_size(value)
    return size


def value_size(value: Value) -> int:
    """Return the size of a trusted value."""
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content) if content.isascii() else len(content.encode())
    if kind == "N":
        return numbers.size(content)
    if kind == "M":
        return _COLLECTION_BYTES + len(content) * _ELEMENT_BYTES + item_size(content)
    if kind == "L":
        size = _COLLECTION_BYTES + len(content) * _ELEMENT_BYTES
        for element in content:
            known = _known_sizes.get(element["N"]) if "N" in element else None
            size += value_size(element) if known is None else known
        return size
    if kind == "B":
        padding: int = content.count("=", -2)
        return len(content) * 3 // 4 - padding
    if kind == "BOOL" or kind == "NULL":
        return 1
    if kind == "SS":
        return _texts_size(content)
    size = 0
    for member in content:
        size += numbers.size(member) if kind == "NS" else value_size({"B": member})
    return size


def type_of(value: Value) -> str:
    """Return the type of a value: "S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL" or "BOOL"."""
    (kind,) = value
    return kind
