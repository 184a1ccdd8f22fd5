"""Values for attributes: the k-th value of an attribute, by its declared type, format and model."""

from __future__ import annotations

import dataclasses
import types
import typing
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from hashrange.toolkit.design.entities import Attribute, Entity
from hashrange.toolkit.design.templates import iso_text

BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
_NUMBERS_FROM: Final = 1000
_GOLDEN: Final = 0.6180339887498949


def sample(entity: Entity[Any], name: str, k: int) -> Any:
    """Return the k-th value of an attribute, or of a key field that is no declared attribute."""
    attribute = entity.attribute(name) or Attribute(name)
    return value_of(attribute, _hint(entity, name), k)


def value_of(attribute: Attribute, hint: Any, k: int) -> Any:
    """Return the k-th value of an attribute; `hint` is its annotation in the model, if any."""
    if attribute.hottest_share is not None and (k * _GOLDEN) % 1 < attribute.hottest_share:
        k = 0
    if attribute.distinct:
        k %= attribute.distinct
    if attribute.values:
        return attribute.values[k % len(attribute.values)]
    if attribute.format:
        return _FORMATS[attribute.format](k, attribute.name)
    if hint is not None:
        return _of_hint(hint, attribute.name, k)
    return _TYPES[attribute.type](k, attribute.name)


def _hint(entity: Entity[Any], name: str) -> Any:
    if entity.model is dict:
        return None
    try:
        return typing.get_type_hints(entity.model).get(name)
    except NameError:  # annotations that exist for type checkers only
        return None


def _of_hint(hint: Any, name: str, k: int) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _of_hint(arguments[0], name, k)
    if origin in (typing.Union, types.UnionType):
        return _of_hint(next(a for a in arguments if a is not type(None)), name, k)
    if origin is typing.Literal:
        return arguments[k % len(arguments)]
    if origin in (set, frozenset):
        return {_of_hint(arguments[0], name, k)}
    if origin in (list, tuple):
        return []
    if origin is dict or not isinstance(hint, type):
        return {}
    return _of_class(hint, name, k)


def _of_class(kind: type, name: str, k: int) -> Any:
    if issubclass(kind, Enum):
        members = [member.value for member in kind]
        return members[k % len(members)]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return {f.name: _of_hint(hints[f.name], f.name, k) for f in dataclasses.fields(kind)}
    if hasattr(kind, "model_fields"):
        hints = typing.get_type_hints(kind)
        return {field: _of_hint(hints[field], field, k) for field in kind.model_fields}
    for known, make in _CLASSES:
        if issubclass(kind, known):
            return make(k, name)
    return {}


Make = Callable[[int, str], Any]


def _moment(k: int) -> datetime:
    return BEGINNING + timedelta(minutes=k)


def _uuid(k: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(k)))


_FORMATS: Final[dict[str, Make]] = {
    "timestamp": lambda k, name: iso_text(_moment(k)),
    "date": lambda k, name: (BEGINNING + timedelta(days=k)).date().isoformat(),
    "epoch_seconds": lambda k, name: int(_moment(k).timestamp()),
    "epoch_milliseconds": lambda k, name: int(_moment(k).timestamp()) * 1000,
    "uuid": lambda k, name: _uuid(k),
    "ulid": lambda k, name: f"01K{k:023d}",
    "sequence": lambda k, name: k + 1,
    "email": lambda k, name: f"person{k}@example.com",
    "number_text": lambda k, name: str(k),
}
_TYPES: Final[dict[str, Make]] = {
    "S": lambda k, name: f"{name}-{k:06d}",
    "N": lambda k, name: _NUMBERS_FROM + k,
    "B": lambda k, name: f"{name}-{k:06d}".encode(),
    "BOOL": lambda k, name: k % 2 == 0,
    "NULL": lambda k, name: None,
    "L": lambda k, name: [],
    "M": lambda k, name: {},
    "SS": lambda k, name: {f"{name}-{k:06d}"},
    "NS": lambda k, name: {_NUMBERS_FROM + k},
    "BS": lambda k, name: {f"{name}-{k:06d}".encode()},
    "ANY": lambda k, name: f"{name}-{k:06d}",
}
_CLASSES: Final[tuple[tuple[type, Make], ...]] = (
    (bool, _TYPES["BOOL"]),
    (int, _TYPES["N"]),
    (float, lambda k, name: Decimal(_NUMBERS_FROM + k)),
    (Decimal, lambda k, name: Decimal(_NUMBERS_FROM + k)),
    (bytes, _TYPES["B"]),
    (datetime, _FORMATS["timestamp"]),
    (date, _FORMATS["date"]),
    (uuid.UUID, _FORMATS["uuid"]),
    (str, _TYPES["S"]),
)
