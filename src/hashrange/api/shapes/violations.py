"""Broken constraints of one request: where they are, how AWS words them, which it reports.

AWS reports at most ten in one message. It echoes the offending value as Java prints it, so a few
of these texts look like Java objects.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn, final

import orjson

from hashrange.errors import ValidationException

_REPORTED_MAX: Final = 10
_ECHO_LEVELS_MAX: Final = 100

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
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # nested too deep
        return java_text(value)


def java_text(value: Any, levels: int = _ECHO_LEVELS_MAX) -> str:
    """Return a value as Java prints it, as older messages echo it, down to some level."""
    if value is True or value is False:
        return "true" if value else "false"
    if not isinstance(value, (dict, list)):
        return str(value)
    if not levels:
        return "..."
    if isinstance(value, list):
        return f"[{', '.join([java_text(member, levels - 1) for member in value])}]"
    members = {name: java_text(member, levels - 1) for name, member in value.items()}
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
