"""Holds parameters against the constraints of the model, in the words AWS uses for all services."""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.api.shapes.violations import Place, java_text
from hashrange.errors import ValidationException
from hashrange.limits import CALL_ECHO_CHARACTERS_MAX
from hashrange.wire.protocols.document_values import FLOATING_NUMBERS, WHOLE_NUMBERS
from hashrange.wire.protocols.service_models import Shape

_REPORTED_MAX: Final = 10
_NUMBERS: Final = WHOLE_NUMBERS | FLOATING_NUMBERS


def validate(shape: Shape, parameters: dict[str, Any]) -> None:
    """Raise ValidationException if anything is missing, out of range or not one of an enum."""
    checker = _Checker()
    checker.structure(shape, parameters, Place("", ""))
    texts = checker.texts[:_REPORTED_MAX]
    if texts:
        plural = "" if len(texts) == 1 else "s"
        raise ValidationException(
            f"{len(texts)} validation error{plural} detected: {'; '.join(texts)}"
        )


@final
class _Checker:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def structure(self, shape: Shape, value: dict[str, Any], place: Place) -> None:
        if shape.metadata.get("document"):
            return
        for name in shape.metadata.get("required", ()):
            if name not in value:
                self._add(place.member(name), None, "Member must not be null")
        for name, item in value.items():
            self._value(shape.members[name], item, place.member(name))

    def _value(self, shape: Shape, value: Any, place: Place) -> None:
        # No more are reported, so no more need to be found.
        if len(self.texts) >= _REPORTED_MAX:
            return
        kind = shape.type_name
        if kind in _NUMBERS:
            self._number(shape, value, place)
        elif kind in ("string", "blob", "list", "map"):
            self._length(shape, value, place)
        if kind == "structure":
            self.structure(shape, value, place)
        elif kind == "list":
            for number, item in enumerate(value, 1):
                self._value(shape.member, item, place.inside(str(number)))
        elif kind == "map":
            for key, item in value.items():
                self._value(shape.key, key, place.inside(key))
                self._value(shape.value, item, place.inside(key))

    def _number(self, shape: Shape, value: float, place: Place) -> None:
        least, most = shape.metadata.get("min"), shape.metadata.get("max")
        if least is not None and value < least:
            self._add(place, value, f"Member must have value greater than or equal to {least}")
        if most is not None and value > most:
            self._add(place, value, f"Member must have value less than or equal to {most}")

    def _length(self, shape: Shape, value: Any, place: Place) -> None:
        secret = bool(shape.metadata.get("sensitive"))
        words = shape.metadata.get("enum")
        if words and value not in words:
            text = ", ".join(words)
            self._add(place, value, f"Member must satisfy enum value set: [{text}]")
        least, most = shape.metadata.get("min"), shape.metadata.get("max")
        if least is not None and len(value) < least:
            text = f"Member must have length greater than or equal to {least}"
            self._add(place, value, text, secret=secret)
        if most is not None and len(value) > most:
            text = f"Member must have length less than or equal to {most}"
            self._add(place, value, text, secret=secret)

    def _add(self, place: Place, value: Any, constraint: str, *, secret: bool = False) -> None:
        if value is None:
            shown = "null "
        elif secret:
            shown = ""
        else:
            shown = f"'{java_text(value)[:CALL_ECHO_CHARACTERS_MAX]}' "
        self.texts.append(
            f"Value {shown}at '{place.lower}' failed to satisfy constraint: {constraint}"
        )
