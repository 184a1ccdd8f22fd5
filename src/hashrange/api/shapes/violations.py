"""Broken constraints of one request: where they are, how AWS words them, which it reports.

AWS reports at most ten in one message. It echoes the offending value as Java prints it, so a few
of these texts look like Java objects. Long echoes are cut, so that a
refusal costs little.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, NoReturn, final

import orjson

from hashrange.errors import ValidationException

_REPORTED_MAX: Final = 10
_ECHO_LEVELS_MAX: Final = 100
_ECHO_VALUES_MAX: Final = 10_000
_ECHO_CHARACTERS_MAX: Final = 100_000
_CUT: Final = "..."

# How Java names the structures that occur in lists and maps, told apart by their members.
_JAVA_NAMES: Final = (
    ("KeySchemaElement", frozenset(("AttributeName", "KeyType"))),
    ("AttributeDefinition", frozenset(("AttributeName", "AttributeType"))),
    ("WriteRequest", frozenset(("PutRequest", "DeleteRequest"))),
    ("PutRequest", frozenset(("Item",))),
    ("DeleteRequest", frozenset(("Key",))),
    ("TransactGetItem", frozenset(("Get",))),
    ("TransactWriteItem", frozenset(("Put", "Update", "Delete", "ConditionCheck"))),
    ("Tag", frozenset(("Key", "Value"))),
)
_TYPES: Final = frozenset(("S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"))


@final
class Place:
    """Where a value stands in the request, as older and as newer messages write it."""

    __slots__ = ("lower", "wire")

    def __init__(self, lower: str, wire: str) -> None:
        self.lower = lower
        self.wire = wire

    def member(self, name: str) -> Place:
        """Return the place of a structure's member."""
        lower = name[0].lower() + name[1:]
        if not self.wire:
            return Place(lower, name)
        return Place(f"{self.lower}.{lower}", f"{self.wire}.{name}")

    def inside(self, key: str) -> Place:
        """Return the place of a list's or map's member."""
        return Place(f"{self.lower}.{key}.member", f"{self.wire}.{key}.member")


@final
class Violations:
    """The constraints a request breaks, in the order they were found.

    AWS has a newer wording for some of them. It falls back to the older one for the whole answer
    if a required member is absent, or if the request is nested too deep for its newer reader.
    """

    __slots__ = ("_alone", "_is_older", "_late", "_newer", "_texts")

    def __init__(self, *, is_deep: bool = False) -> None:
        self._texts: list[str] = []
        self._late: list[str] = []
        self._newer: dict[str, str] = {}
        self._alone: str | None = None
        self._is_older = is_deep

    def add(
        self,
        place: Place,
        value: Any,
        constraint: str,
        *,
        named: bool = False,
        late: bool = False,
        alone: str | None = None,
        echo: str | None = None,
    ) -> str:
        """Add one and return its text; `named` leaves out the value, `late` yields to any other.

        `alone` is its newer wording if that stands for the whole answer.
        """
        if value is None:
            self._is_older = True
            text = f"Value null at '{place.lower}'"
        elif named:
            text = f"Value at '{place.wire}'"
        else:
            text = f"Value '{java_text(value) if echo is None else echo}' at '{place.lower}'"
        if alone is not None and self._alone is None:
            self._alone = alone
        text = f"{text} failed to satisfy constraint: {constraint}"
        texts = self._late if late else self._texts
        texts.append(text)
        return text

    @property
    def is_full(self) -> bool:
        """Whether further violations would not be reported.

        An absent member found later would still change the wording of all.
        """
        return self._is_older and len(self._texts) >= _REPORTED_MAX

    def reword(self, text: str, newer: str) -> None:
        """Note the newer wording of a text that was added."""
        self._newer[text] = newer

    def raise_any(self) -> None:
        """Raise ValidationException if anything was found."""
        if self._alone is not None and not self._is_older:
            raise ValidationException(self._alone)
        texts = self._texts or self._late
        if not texts:
            return
        if not self._is_older:
            texts = [self._newer.get(text, text) for text in texts]
        _raise_texts(texts[:_REPORTED_MAX])


def _raise_texts(texts: list[str]) -> NoReturn:
    plural = "" if len(texts) == 1 else "s"
    raise ValidationException(f"{len(texts)} validation error{plural} detected: {'; '.join(texts)}")


def json_text(value: Any) -> str:
    """Return a value as compact JSON, as newer messages echo it."""
    try:
        return _cut(orjson.dumps(value)[: 4 * _ECHO_CHARACTERS_MAX].decode(errors="ignore"))
    except orjson.JSONEncodeError:  # nested too deep
        return java_text(value)


def java_text(value: Any) -> str:
    """Return a value as Java prints it, as older messages echo it, down to some level."""
    return _cut(_Echo().text(value, _ECHO_LEVELS_MAX))


def _cut(text: str) -> str:
    return text if len(text) <= _ECHO_CHARACTERS_MAX else text[:_ECHO_CHARACTERS_MAX] + _CUT


@final
class _Echo:
    """Prints one value, of which only so many parts are looked at."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _ECHO_VALUES_MAX

    def text(self, value: Any, levels: int) -> str:
        self._left -= 1
        if value is True or value is False:
            return "true" if value else "false"
        if not isinstance(value, (dict, list)):
            return _cut(str(value))
        if not levels or self._left < 0:
            return _CUT
        if isinstance(value, list):
            shown = [self.text(part, levels - 1) for part in value[: self._left + 1]]
            return f"[{', '.join(shown)}]"
        parts = islice(value.items(), self._left + 1)
        members = {name: self.text(part, levels - 1) for name, part in parts}
        name = _java_name(value)
        if name is None:
            return "{" + ", ".join([f"{key}={text}" for key, text in members.items()]) + "}"
        texts = [f"{key[0].lower()}{key[1:]}={text}" for key, text in members.items()]
        return f"{name}({', '.join(texts)})"


def _java_name(value: dict[str, Any]) -> str | None:
    names = value.keys()
    if not names:
        return None
    if len(names) == 1 and names <= _TYPES:
        return "AttributeValue"
    for name, members in _JAVA_NAMES:
        if names <= members:
            return name
    return None
