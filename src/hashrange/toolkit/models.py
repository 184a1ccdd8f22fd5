"""Model classes of the user, read without depending on any: dataclasses, Pydantic models, dict.

A model is anything that is a dataclass, has Pydantic's `model_fields`, or is `dict`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal

from hashrange.toolkit.errors import ConversionError, DesignError

DerivedType = Literal["S", "N", "B", "BOOL", "L", "M", "SS", "NS", "BS", "ANY"]

_SCALARS: Final[tuple[tuple[type, DerivedType], ...]] = (
    (bool, "BOOL"),
    (int, "N"),
    (float, "N"),
    (Decimal, "N"),
    (bytes, "B"),
    (datetime, "S"),
    (date, "S"),
    (str, "S"),
)
_SETS: Final[dict[str, DerivedType]] = {"S": "SS", "N": "NS", "B": "BS"}


def attributes_of_model(model: type) -> Iterator[tuple[str, DerivedType, bool]]:
    """Yield name, DynamoDB type and whether it is required, for each field of a model."""
    if model is dict:
        return
    hints = _hints(model)
    fields = getattr(model, "model_fields", None)
    if fields is not None:
        for name, each in fields.items():
            hint = hints.get(name, each.annotation)
            yield name, _type_of(hint), each.is_required() and not _allows_none(hint)
    elif dataclasses.is_dataclass(model):
        for each in dataclasses.fields(model):
            needed = (
                each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
            )
            hint = hints.get(each.name, Any)
            yield each.name, _type_of(hint), needed and not _allows_none(hint)
    else:
        raise DesignError(f"{model!r} is no model: use a dataclass, a Pydantic model or dict")


def _hints(model: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(model)
    except NameError:  # a class that is defined later, or only for type checkers
        return {}


def _type_of(hint: Any) -> DerivedType:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _type_of(typing.get_args(hint)[0])
    if origin is Literal:
        return _type_of(type(typing.get_args(hint)[0]))
    if origin in (typing.Union, types.UnionType):
        kinds = {_type_of(each) for each in typing.get_args(hint) if each is not type(None)}
        return kinds.pop() if len(kinds) == 1 else "ANY"
    if origin in (set, frozenset):
        return _SETS.get(_type_of(typing.get_args(hint)[0]), "ANY")
    if origin in (list, tuple):
        return "L"
    if origin is not None and issubclass(origin, Mapping):
        return "M"
    return _type_of_class(hint)


def _type_of_class(hint: Any) -> DerivedType:
    if not isinstance(hint, type):
        return "ANY"
    if issubclass(hint, Enum):
        kinds = {_type_of_class(type(member.value)) for member in hint}
        return kinds.pop() if len(kinds) == 1 else "ANY"
    for python, kind in _SCALARS:
        if issubclass(hint, python):
            return kind
    if is_uuid(hint):
        return "S"
    if issubclass(hint, list | tuple):
        return "L"
    if issubclass(hint, dict) or dataclasses.is_dataclass(hint) or hasattr(hint, "model_fields"):
        return "M"
    return "ANY"


def is_uuid(kind: type) -> bool:
    """Tell whether a class is uuid.UUID, without importing the module, which takes milliseconds."""
    return kind.__module__ == "uuid" and kind.__name__ == "UUID"


def _allows_none(hint: Any) -> bool:
    return type(None) in typing.get_args(hint)


def fields_of(record: Any) -> dict[str, Any]:
    """Return the fields of a model instance by name, without copying their values."""
    if isinstance(record, Mapping):
        return dict(record)
    fields = getattr(type(record), "model_fields", None)
    if fields is not None:
        return {name: getattr(record, name) for name in fields}
    if dataclasses.is_dataclass(record):
        return {each.name: getattr(record, each.name) for each in dataclasses.fields(record)}
    raise ConversionError(f"{type(record).__name__} is no dataclass, Pydantic model or mapping")
