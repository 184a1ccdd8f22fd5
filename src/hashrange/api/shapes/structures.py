"""Request shapes as data, and the checker that words AWS's serialization and validation messages.

A shape has four methods:

1. `fits`: is the value valid as it is? This is the whole cost of a valid request.
2. `convert`: the value with nulls and unknown members dropped, which AWS ignores, and lenient forms
   made strict; or SerializationException.
3. `collect`: every constraint the value breaks, in AWS's order, as the wire names its members.
4. `check_values`: are the attribute values inside it well typed? Serialization errors only.

Only `fits` runs for a valid request; the others run when it returns False. Only `check_values`
looks inside attribute values, because the model checks them in the walk that normalises them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from hashrange.api.shapes.deep_requests import is_deep
from hashrange.api.shapes.scalars import MAP_START, NAME_PATTERN, Shape, String, collect_length
from hashrange.api.shapes.violations import Place, Violations, json_text
from hashrange.errors import SerializationException, ValidationException
from hashrange.limits import LIST_MEMBERS_MAX
from hashrange.model.values import check_types

_MODEL: Final = "com.amazonaws.dynamodb.v20120810."
_ATTRIBUTE_VALUE: Final = _MODEL + "AttributeValue"
_CAST: Final = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)
_FIELD: Final = "Unexpected field type"
_PAYLOAD: Final = "Unexpected value type in payload"
_OBJECTS: Final = frozenset((dict,))


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

    __slots__ = ("_walked_max", "maximum", "member", "minimum", "named")

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
        self._walked_max = LIST_MEMBERS_MAX if maximum is None else maximum

    def fits(self, value: object) -> bool:
        if type(value) is not list or not self.minimum <= len(value) <= self._walked_max:
            return False
        return all(map(self.member.fits, value))

    def convert(self, value: Any, *, is_field: bool) -> Any:
        if isinstance(value, dict):
            raise SerializationException(MAP_START)
        if not isinstance(value, list):
            raise SerializationException(_FIELD if is_field else _CAST)
        if len(value) > LIST_MEMBERS_MAX:
            raise ValidationException(
                f"A list has {len(value)} members, more than the {LIST_MEMBERS_MAX} that are read"
            )
        convert = self.member.convert
        for position, member in enumerate(value):
            if member is not None:
                value[position] = convert(member, is_field=False)
        return value

    def collect(self, value: Any, place: Place, found: Violations) -> None:
        collect_length(self.minimum, self.maximum, value, place, found, named=self.named)
        for position, member in enumerate(value, 1):
            if found.is_full:
                return
            inside = place.inside(str(position))
            if member is None:
                found.add(inside, None, "Member must not be null")
            else:
                self.member.collect(member, inside, found)

    def check_values(self, value: Any) -> None:
        for member in value:
            if member is not None:
                self.member.check_values(member)


@final
class MapOf(Shape):
    """A map whose values have one shape; `keys` and `lengths` bound its keys and list values."""

    __slots__ = ("echo_json", "empty_text", "key", "late", "lengths", "member", "minimum", "named")

    def __init__(
        self,
        member: Shape,
        *,
        minimum: int = 0,
        key: String | None = None,
        lengths: tuple[int, int] | None = None,
        named: bool = False,
        late: bool = False,
        echo_json: bool = False,
        empty_text: str | None = None,
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
        self.empty_text = empty_text  # the whole error message for an empty map

    def fits(self, value: object) -> bool:
        if type(value) is not dict or len(value) < self.minimum:
            return False
        if not value and self.empty_text is not None:
            return False
        fits = self.member.fits
        key = self.key
        lengths = self.lengths
        if key is None and lengths is None:
            return all(map(fits, value.values()))
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
        if not value and self.empty_text is not None:
            found.add(place, value, "Member must not be empty", alone=self.empty_text)
        collect_length(self.minimum, None, value, place, found, named=self.named)
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
            if found.is_full:
                return
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
    """A structure; `members` are in the order in which AWS reports their errors.

    `parameters` are members whose absence AWS reports first and in a separate message.
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
        self._present = (*self.required, *self.parameters)

    def check(self, request: dict[str, Any]) -> None:
        """Check a whole request; `convert` it in place if it is not valid as it is."""
        if not self.fits(request):
            self._check_slowly(request)

    def _check_slowly(self, request: dict[str, Any]) -> None:
        self.convert(request, is_field=False)
        for name in self.parameters:
            if name not in request:
                raise ValidationException(
                    f"The parameter '{name}' is required but was not present in the request"
                )
        found = Violations(is_deep=is_deep(request))
        self.collect(request, Place("", ""), found)
        found.raise_any()

    def fits(self, value: object) -> bool:
        if type(value) is not dict:
            return False
        members = self.members
        for name, member in value.items():
            shape = members.get(name)
            if shape is None or not shape.fits(member):
                return False
        for name in self._present:  # noqa: SIM110  # a generator costs more
            if name not in value:
                return False
        return True

    def convert(self, value: Any, *, is_field: bool) -> Any:
        _convert_object(value, self.java, is_field)
        for name, member in list(value.items()):
            shape = self.members.get(name)
            if member is None or shape is None:
                del value[name]
            else:
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
