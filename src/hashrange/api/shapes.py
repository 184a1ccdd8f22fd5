"""Request shapes as data, and the checker that words AWS's serialization and validation messages.

A shape is asked four things:

1. `fits`: is the value right as it stands? This is the whole cost of a good request.
2. `convert`: the value with nulls dropped and lenient forms made strict, or SerializationException.
3. `collect`: every constraint the value breaks, in AWS's order, as the wire names its members.
4. `check_values`: are the attribute values inside it well typed? Serialization errors only.

Only `fits` runs for a good request; the others run once it has said no. Attribute values are not
entered except by `check_values`, because the model checks them in the walk that normalises them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from hashrange.api.violations import Place, Violations, json_text
from hashrange.errors import SerializationException, ValidationException
from hashrange.model.values import check_types

_MODEL: Final = "com.amazonaws.dynamodb.v20120810."
_ATTRIBUTE_VALUE: Final = _MODEL + "AttributeValue"
_CAST: Final = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)
_MAP_START: Final = "Start of structure or map found where not expected"
_FIELD: Final = "Unexpected field type"
_PAYLOAD: Final = "Unexpected value type in payload"
_TRUE_WORDS: Final = frozenset(("TRUE", "1", "YES"))
_FALSE_WORDS: Final = frozenset(("FALSE", "0", "NO"))
_OBJECTS: Final = frozenset((dict,))

NAME_PATTERN: Final = "[a-zA-Z0-9_.-]+"


class Shape:
    """The part of the contract every shape shares."""

    __slots__ = ("has_values", "java")

    java: str
    has_values: bool

    def fits(self, value: object) -> bool:
        raise NotImplementedError

    def convert(self, value: Any, *, is_field: bool) -> Any:
        """Return the value made strict; `is_field` is False inside a list or a map."""
        raise NotImplementedError

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        """Add every broken constraint."""

    def check_values(self, value: Any) -> None:
        """Raise SerializationException for the first mistyped attribute value."""


def _scalar_name(value: object) -> str:
    if value is True:
        return "TRUE_VALUE"
    if value is False:
        return "FALSE_VALUE"
    if isinstance(value, str):
        return "STRING_VALUE"
    if isinstance(value, float) and not value.is_integer():
        return "DECIMAL_VALUE"
    return "NUMBER_VALUE"


def _refuse(value: object, java: str) -> SerializationException:
    """Return the error for a JSON value that is not the scalar it should be."""
    if isinstance(value, list):
        return SerializationException(f"Unrecognized collection type class {java}")
    if isinstance(value, dict):
        return SerializationException(_MAP_START)
    return SerializationException(
        f"{_scalar_name(value)} cannot be converted to {java.rpartition('.')[2]}"
    )


class String(Shape):
    """A string with the constraints AWS puts on it; the enum is in AWS's own order."""

    __slots__ = ("enum", "generic", "maximum", "minimum", "pattern", "plain", "regex")

    def __init__(
        self,
        *,
        minimum: int = 0,
        maximum: int | None = None,
        pattern: str | None = None,
        enum: Sequence[str] = (),
        generic: str | None = None,
    ) -> None:
        self.java = "java.lang.String"
        self.has_values = False
        self.minimum = minimum
        self.maximum = maximum
        self.pattern = pattern
        self.regex = re.compile(pattern) if pattern else None
        self.enum = tuple(enum)
        # What to say, alone, about a word outside the enum where AWS names no member.
        self.generic = generic
        self.plain = not (minimum or maximum is not None or pattern or enum)

    def fits(self, value: object) -> bool:
        if type(value) is not str:
            return False
        if self.plain:
            return True
        if self.enum:
            return value in self.enum
        if len(value) < self.minimum:
            return False
        if self.maximum is not None and len(value) > self.maximum:
            return False
        return self.regex is None or self.regex.fullmatch(value) is not None

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if type(value) is not str:
            raise _refuse(value, self.java)
        return value

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        if self.enum:
            if value not in self.enum:
                found.add(
                    place,
                    value,
                    f"Member must satisfy enum value set: [{', '.join(self.enum)}]",
                    alone=self.generic,
                )
            return
        if self.regex is not None and self.regex.fullmatch(value) is None:
            found.add(
                place, value, f"Member must satisfy regular expression pattern: {self.pattern}"
            )
        _collect_length(self.minimum, self.maximum, value, place, found)


@final
class TableName(String):
    """A table's name, or its ARN."""

    __slots__ = ()

    def __init__(self, *, minimum: int) -> None:
        super().__init__(minimum=minimum, maximum=255, pattern=NAME_PATTERN)

    def fits(self, value: object) -> bool:
        if type(value) is not str:
            return False
        if _NAME.fullmatch(value) is not None:
            return len(value) >= self.minimum
        return _TABLE_ARN.fullmatch(value) is not None

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        # AWS reports one thing about a table name, length before characters.
        if self.fits(value):
            return
        if len(value) < self.minimum or len(value) > 255:
            _collect_length(self.minimum, 255, value, place, found)
        else:
            super().collect(value, place, found)


_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,255}")
_TABLE_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[a-zA-Z0-9_.-]{3,255}"
)


@final
class Number(Shape):
    """A JSON number of one of Java's types: Integer, Long or Double."""

    __slots__ = ("maximum", "minimum", "named")

    def __init__(
        self,
        java: str,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
        named: bool = False,
    ) -> None:
        self.java = "java.lang." + java
        self.has_values = False
        self.minimum = minimum
        self.maximum = maximum
        self.named = named

    def fits(self, value: object) -> bool:
        if type(value) is not int:
            return False
        if self.minimum is not None and value < self.minimum:
            return False
        return self.maximum is None or value <= self.maximum

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if type(value) is int:
            return value
        if type(value) is float:
            return value if self.java == "java.lang.Double" else int(value // 1)
        raise _refuse(value, self.java)

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        if self.minimum is not None and value < self.minimum:
            text = f"Member must have value greater than or equal to {self.minimum}"
            found.add(place, value, text, named=self.named)
        if self.maximum is not None and value > self.maximum:
            text = f"Member must have value less than or equal to {self.maximum}"
            found.add(place, value, text, named=self.named)


@final
class Boolean(Shape):
    """A JSON boolean, or one of the words AWS takes for it."""

    __slots__ = ()

    def __init__(self) -> None:
        self.java = "java.lang.Boolean"
        self.has_values = False

    def fits(self, value: object) -> bool:
        return value is True or value is False

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if value is True or value is False:
            return value
        if not isinstance(value, str):
            raise _refuse(value, self.java)
        word = value.upper()
        if word in _TRUE_WORDS:
            return True
        if word in _FALSE_WORDS:
            return False
        raise SerializationException("Unexpected token received from parser")


@final
class AttributeValue(Shape):
    """One attribute value; only `check_values` looks inside."""

    __slots__ = ()

    def __init__(self) -> None:
        self.java = _ATTRIBUTE_VALUE
        self.has_values = True

    def fits(self, value: object) -> bool:
        return type(value) is dict

    def convert(self, value: Any, *, is_field: bool) -> Any:
        return _convert_object(value, self.java, is_field)

    def check_values(self, value: Any) -> None:
        check_types(value)


@final
class AttributeMap(Shape):
    """Attribute values by name: an item, a key, expression values."""

    __slots__ = ()

    def __init__(self) -> None:
        self.java = f"java.util.Map<java.lang.String, {_ATTRIBUTE_VALUE}>"
        self.has_values = True

    def fits(self, value: object) -> bool:
        return type(value) is dict and _OBJECTS.issuperset(map(type, value.values()))

    def convert(self, value: Any, *, is_field: bool) -> Any:
        _check_map(value, self.java, is_field)
        for name, member in value.items():
            # A null is an attribute value without a type; the model says so.
            value[name] = {} if member is None else _convert_object(member, _ATTRIBUTE_VALUE, False)
        return value

    def check_values(self, value: Any) -> None:
        for member in value.values():
            check_types(member)


@final
class ListOf(Shape):
    """A list whose members have one shape."""

    __slots__ = ("maximum", "member", "minimum", "named")

    def __init__(
        self,
        member: Shape,
        *,
        minimum: int = 0,
        maximum: int | None = None,
        named: bool = False,
    ) -> None:
        self.java = f"java.util.List<{member.java}>"
        self.has_values = member.has_values
        self.member = member
        self.minimum = minimum
        self.maximum = maximum
        self.named = named

    def fits(self, value: object) -> bool:
        if type(value) is not list or len(value) < self.minimum:
            return False
        if self.maximum is not None and len(value) > self.maximum:
            return False
        return all(map(self.member.fits, value))

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if isinstance(value, dict):
            raise SerializationException(_MAP_START)
        if not isinstance(value, list):
            raise SerializationException(_FIELD if is_field else _CAST)
        convert = self.member.convert
        for position, member in enumerate(value):
            if member is not None:
                value[position] = convert(member, is_field=False)
        return value

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        _collect_length(self.minimum, self.maximum, value, place, found, named=self.named)
        for position, member in enumerate(value, 1):
            inside = place.inside(str(position))
            if member is None:
                found.add(inside, None, "Member must not be null")
            else:
                self.member.collect(member, inside, found)

    def check_values(self, value: Any) -> None:
        for member in value:
            self.member.check_values(member)


@final
class MapOf(Shape):
    """A map whose values have one shape; `keys` and `lengths` bound its keys and list values."""

    __slots__ = ("echo_json", "key", "late", "lengths", "member", "minimum", "named")

    def __init__(
        self,
        member: Shape,
        *,
        minimum: int = 0,
        key: String | TableName | None = None,
        lengths: tuple[int, int] | None = None,
        named: bool = False,
        late: bool = False,
        echo_json: bool = False,
    ) -> None:
        self.java = f"java.util.Map<java.lang.String, {member.java}>"
        self.has_values = member.has_values
        self.member = member
        self.minimum = minimum
        self.key = key
        self.lengths = lengths
        self.named = named
        self.late = late  # broken keys and lengths are reported only when nothing else is wrong
        self.echo_json = echo_json

    def fits(self, value: object) -> bool:
        if type(value) is not dict or len(value) < self.minimum:
            return False
        fits = self.member.fits
        key = self.key
        lengths = self.lengths
        for name, member in value.items():
            if not fits(member) or (key is not None and not key.fits(name)):
                return False
            if lengths is not None and not lengths[0] <= len(member) <= lengths[1]:
                return False
        return True

    def convert(self, value: Any, *, is_field: bool) -> Any:
        _check_map(value, self.java, is_field)
        convert = self.member.convert
        for name, member in list(value.items()):
            if member is None:
                del value[name]
            else:
                value[name] = convert(member, is_field=False)
        return value

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        _collect_length(self.minimum, None, value, place, found, named=self.named)
        echo = json_text(value) if self.echo_json else None
        if self.key is not None and not all(map(self.key.fits, value)):
            found.add(place, value, _KEYS_TEXT, late=self.late, echo=echo)
        if self.lengths is not None:
            low, high = self.lengths
            if not all(low <= len(member) <= high for member in value.values()):
                text = (
                    "Map value must satisfy constraint: [Member must have length less than or "
                    f"equal to {high}, Member must have length greater than or equal to {low}]"
                )
                found.add(place, value, text, late=self.late, echo=echo)
        for name, member in value.items():
            self.member.collect(member, place.inside(name), found)

    def check_values(self, value: Any) -> None:
        for member in value.values():
            self.member.check_values(member)


_KEYS_TEXT: Final = (
    "Map keys must satisfy constraint: [Member must have length less than or equal to 255, "
    "Member must have length greater than or equal to 3, "
    f"Member must satisfy regular expression pattern: {NAME_PATTERN}]"
)


@final
class Structure(Shape):
    """A structure; `members` are in the order in which AWS reports what is wrong with them.

    `parameters` are members whose absence AWS reports first and in a sentence of its own.
    """

    __slots__ = ("_present", "members", "parameters", "required")

    def __init__(
        self,
        name: str,
        members: Mapping[str, Shape],
        *,
        required: Sequence[str] = (),
        parameters: Sequence[str] = (),
    ) -> None:
        self.java = _MODEL + name
        self.has_values = any(member.has_values for member in members.values())
        self.members = dict(members)
        self.required = tuple(required)
        self.parameters = tuple(parameters)
        self._present = frozenset(self.required + self.parameters)

    def check(self, request: dict[str, Any]) -> None:
        """Check a whole request; nulls are dropped and lenient forms made strict, in place."""
        if not self.fits(request):
            self._check_slowly(request)

    def _check_slowly(self, request: dict[str, Any]) -> None:
        self.convert(request, is_field=False)
        for name in self.parameters:
            if name not in request:
                raise ValidationException(
                    f"The parameter '{name}' is required but was not present in the request"
                )
        found = Violations()
        self.collect(request, Place("", ""), found)
        found.raise_any()

    def fits(self, value: object) -> bool:
        if type(value) is not dict:
            return False
        members = self.members
        for name, member in value.items():
            shape = members.get(name)
            if shape is not None and not shape.fits(member):
                return False
        return self._present <= value.keys()

    def convert(self, value: Any, *, is_field: bool) -> Any:
        _convert_object(value, self.java, is_field)
        for name, member in list(value.items()):
            if member is None:
                del value[name]
                continue
            shape = self.members.get(name)
            if shape is not None:
                value[name] = shape.convert(member, is_field=True)
        return value

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        for name, shape in self.members.items():
            member = value.get(name)
            if member is not None:
                shape.collect(member, place.member(name), found)
            elif name in self.required:
                found.add(place.member(name), None, "Member must not be null")

    def check_values(self, value: Any) -> None:
        for name, member in value.items():
            shape = self.members.get(name)
            if shape is not None and shape.has_values and member is not None:
                shape.check_values(member)


def _convert_object(value: Any, java: str, is_field: bool) -> Any:
    if type(value) is dict:
        return value
    if isinstance(value, list):
        raise SerializationException(f"Unrecognized collection type class {java}")
    raise SerializationException(_FIELD if is_field else _PAYLOAD)


def _check_map(value: Any, java: str, is_field: bool) -> None:
    if type(value) is dict:
        return
    if isinstance(value, list):
        raise SerializationException(f"Unrecognized collection type {java}")
    raise SerializationException(_FIELD if is_field else _CAST)


def _collect_length(
    minimum: int,
    maximum: int | None,
    value: Any,
    place: Place,
    found: Violations,
    *,
    named: bool = False,
) -> None:
    if len(value) < minimum:
        text = f"Member must have length greater than or equal to {minimum}"
        found.add(place, value, text, named=named)
    if maximum is not None and len(value) > maximum:
        text = f"Member must have length less than or equal to {maximum}"
        found.add(place, value, text, named=named)
