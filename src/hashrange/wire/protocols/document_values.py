"""Values of self-describing documents (JSON and CBOR) to parameters, and results to documents.

Both follow the shapes of the model. Unknown members and nulls in a request are ignored, as AWS
ignores them. A value of the wrong type raises SerializationException. A result that does not fit
its shape is our own bug and raises KeyError or fails an assertion.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime
from math import isinf, isnan
from typing import Any, Final, NoReturn

from hashrange.errors import SerializationException
from hashrange.limits import CALL_ITEMS_MAX, CALL_LEVELS_MAX
from hashrange.wire.protocols import timestamps
from hashrange.wire.protocols.service_models import Shape

WHOLE_NUMBERS: Final = frozenset(("integer", "long", "short", "byte"))
FLOATING_NUMBERS: Final = frozenset(("float", "double"))
SPECIAL_NUMBERS: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}
_INTEGER_BITS: Final = {"integer": 31, "long": 63, "short": 15, "byte": 7}
_JAVA_NAMES: Final = {
    "integer": "Integer",
    "long": "Long",
    "float": "Float",
    "double": "Double",
    "boolean": "Boolean",
    "string": "String",
    "blob": "Blob",
    "timestamp": "Date",
}


def refuse(value: object, shape: Shape) -> NoReturn:
    """Raise the error for a value of another type than the shape's."""
    if isinstance(value, list):
        raise SerializationException("Start of list found where not expected")
    if isinstance(value, dict):
        raise SerializationException("Start of structure or map found where not expected")
    if shape.type_name in ("structure", "list", "map"):
        raise SerializationException("Unexpected field type")
    kind = "STRING_VALUE" if isinstance(value, str) else "NUMBER_VALUE"
    if isinstance(value, bool):
        kind = "TRUE_VALUE" if value else "FALSE_VALUE"
    java = _JAVA_NAMES.get(shape.type_name, shape.type_name)
    raise SerializationException(f"{kind} can not be converted to {java}")


def wire_name(shape: Shape, member: str) -> str:
    """Return the name of a structure's member in a document."""
    name: str = shape.serialization.get("name", member)
    return name


def check_range(number: int, shape: Shape) -> int:
    """Return a whole number that its type can hold."""
    if not -(1 << _INTEGER_BITS[shape.type_name]) <= number < 1 << _INTEGER_BITS[shape.type_name]:
        raise SerializationException(
            f"NUMBER_VALUE is out of the range of {_JAVA_NAMES.get(shape.type_name, 'Short')}"
        )
    return number


class DocumentReader:
    """Reads the value of a document by its shape; subclasses know blobs and times."""

    def read(self, shape: Shape, value: Any, level: int = 0) -> Any:
        """Return the parameter that a value stands for."""
        if level > CALL_LEVELS_MAX:
            raise SerializationException("The request is nested too deep")
        kind = shape.type_name
        if kind == "structure":
            return self.read_structure(shape, value, level)
        if kind == "list":
            return self._read_list(shape, value, level)
        if kind == "map":
            return self._read_map(shape, value, level)
        if kind == "blob":
            return self.read_blob(shape, value)
        if kind == "timestamp":
            return self.read_time(shape, value)
        return _read_scalar(shape, value)

    def read_structure(self, shape: Shape, value: Any, level: int = 0) -> Any:
        """Return the members of a structure that are in the document."""
        if shape.metadata.get("document"):
            return value
        if not isinstance(value, dict):
            refuse(value, shape)
        found = {}
        for name, member in shape.members.items():
            given = value.get(wire_name(member, name))
            if given is not None:
                found[name] = self.read(member, given, level + 1)
        return found

    def read_blob(self, shape: Shape, value: Any) -> bytes:
        raise NotImplementedError

    def read_time(self, shape: Shape, value: Any) -> datetime:
        raise NotImplementedError

    def _read_list(self, shape: Shape, value: Any, level: int) -> list[Any]:
        if not isinstance(value, list):
            refuse(value, shape)
        if len(value) > CALL_ITEMS_MAX:
            raise SerializationException("A list has too many members")
        member = shape.member
        return [self.read(member, item, level + 1) for item in value if item is not None]

    def _read_map(self, shape: Shape, value: Any, level: int) -> dict[str, Any]:
        if not isinstance(value, dict):
            refuse(value, shape)
        if len(value) > CALL_ITEMS_MAX:
            raise SerializationException("A map has too many members")
        member = shape.value
        return {
            key: self.read(member, item, level + 1)
            for key, item in value.items()
            if item is not None
        }


def _read_scalar(shape: Shape, value: Any) -> Any:
    kind = shape.type_name
    if kind in WHOLE_NUMBERS:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return check_range(value, shape)
    elif kind in FLOATING_NUMBERS:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _read_float(value)
        if isinstance(value, str) and value in SPECIAL_NUMBERS:
            return SPECIAL_NUMBERS[value]
    elif kind == "boolean":
        if isinstance(value, bool):
            return value
    elif isinstance(value, str):
        return value
    refuse(value, shape)


def _read_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise SerializationException("NUMBER_VALUE is out of the range of Double") from None


class JsonReader(DocumentReader):
    """Reads JSON: blobs in base64, times as epoch seconds or text."""

    def read_blob(self, shape: Shape, value: Any) -> bytes:
        if not isinstance(value, str):
            refuse(value, shape)
        return read_base64(value)

    def read_time(self, shape: Shape, value: Any) -> datetime:
        if isinstance(value, str):
            return timestamps.read_text(value)
        if not isinstance(value, int | float):
            refuse(value, shape)
        return timestamps.read_number(value)


class CborReader(DocumentReader):
    """Reads CBOR: byte strings, and times that were tagged."""

    def read_blob(self, shape: Shape, value: Any) -> bytes:
        if not isinstance(value, bytes):
            refuse(value, shape)
        return value

    def read_time(self, shape: Shape, value: Any) -> datetime:
        if not isinstance(value, datetime):
            refuse(value, shape)
        return value


class DocumentWriter:
    """Makes the document of a result; subclasses know blobs, times and numbers that are none."""

    def write(self, shape: Shape, value: Any) -> Any:
        """Return what stands for a value in the document."""
        kind = shape.type_name
        if kind == "structure":
            return self.write_structure(shape, value)
        if kind == "list":
            return [self.write(shape.member, item) for item in value]
        if kind == "map":
            return {key: self.write(shape.value, item) for key, item in value.items()}
        if kind == "blob":
            return self.write_blob(value)
        if kind == "timestamp":
            return self.write_time(shape, value)
        if kind in FLOATING_NUMBERS:
            return self.write_float(float(value))
        return value

    def write_structure(self, shape: Shape, value: Mapping[str, Any]) -> Any:
        """Return the document of a structure; members that are None are left out."""
        if shape.metadata.get("document"):
            return value
        members = shape.members
        return {
            wire_name(members[name], name): self.write(members[name], item)
            for name, item in value.items()
            if item is not None
        }

    def write_blob(self, value: bytes) -> Any:
        raise NotImplementedError

    def write_time(self, shape: Shape, value: datetime) -> Any:
        raise NotImplementedError

    def write_float(self, value: float) -> Any:
        raise NotImplementedError


class JsonWriter(DocumentWriter):
    """Makes documents for JSON."""

    def write_blob(self, value: bytes) -> str:
        return b64encode(value).decode()

    def write_time(self, shape: Shape, value: datetime) -> Any:
        form = shape.serialization.get("timestampFormat", timestamps.EPOCH_SECONDS)
        if form == timestamps.EPOCH_SECONDS:
            return timestamps.to_epoch(value)
        return timestamps.write_text(value, form)

    def write_float(self, value: float) -> Any:
        if isnan(value) or isinf(value):
            return float_text(value)
        return value


class CborWriter(DocumentWriter):
    """Makes documents for CBOR, which has bytes, times and all floating-point numbers itself."""

    def write_blob(self, value: bytes) -> bytes:
        return value

    def write_time(self, shape: Shape, value: datetime) -> datetime:
        return value

    def write_float(self, value: float) -> float:
        return value


def float_text(value: float) -> str:
    """Return a floating-point number as text, with Smithy's names for those that are none."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def read_base64(text: str) -> bytes:
    """Return the bytes of a base64 text."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise SerializationException("A blob is not valid base64") from None
