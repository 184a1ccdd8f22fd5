"""Model instances to plain attribute mappings and back.

Pydantic validates its own models. Dataclasses are filled field by field: what JSON-like items
cannot say (datetime, UUID, enumerations, nested dataclasses, tuples, sets) follows from the
annotations. Attributes of an item that the model does not know are dropped; fields an item lacks
take their default.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, TypeVar

from hashrange.toolkit.errors import ConversionError
from hashrange.toolkit.models import fields_of, is_uuid

Model = TypeVar("Model")


def to_attributes(record: Any) -> dict[str, Any]:
    """Return the attributes of a record. Fields that are None and empty sets are left out."""
    return {
        name: _exact(value, record, name)
        for name, value in fields_of(record).items()
        if value is not None and not (isinstance(value, set | frozenset) and not value)
    }


def to_record(model: type[Model], attributes: Mapping[str, Any]) -> Model:
    """Return an instance of a model; ConversionError if the attributes do not fit it."""
    if model is dict:
        return typing.cast("Model", dict(attributes))
    validate = getattr(model, "model_validate", None)
    try:
        if validate is not None:
            known = model.model_fields  # type: ignore[attr-defined]  # a Pydantic model
            given = {name: each for name, each in attributes.items() if name in known}
            return typing.cast("Model", validate(given))
        return _dataclass(model, attributes)
    except (TypeError, ValueError) as error:
        raise ConversionError(f"the item is no {model.__name__}: {error}") from error


def _exact(value: Any, record: Any, name: str) -> Any:
    """Return a value; one in a field declared as float becomes the shortest equal Decimal."""
    if isinstance(value, float) and float in _members(_hints(type(record)).get(name)):
        return Decimal(repr(value))
    return value


def _members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) or (hint,)


def _hints(model: Any) -> dict[str, Any]:
    return _hints_of_class(model)


@lru_cache(maxsize=1024)
def _hints_of_class(model: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(model)
    except NameError:  # annotations that exist for type checkers only
        return {}


def _dataclass(model: type[Model], attributes: Mapping[str, Any]) -> Model:
    hints = _hints(model)
    values = {
        each.name: _fit(hints.get(each.name, Any), attributes[each.name])
        for each in dataclasses.fields(model)  # type: ignore[arg-type]  # checked by the design
        if each.init and each.name in attributes
    }
    return model(**values)


def _fit(hint: Any, value: Any) -> Any:
    """Return a value as its annotation wants it; what is unknown stays as it is."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _fit(arguments[0], value)
    if origin in (typing.Union, types.UnionType):
        choices = [each for each in arguments if each is not type(None)]
        return value if value is None or len(choices) != 1 else _fit(choices[0], value)
    if origin is Literal or hint is Any:
        return value
    if origin is tuple:
        kinds = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
        return tuple(_fit(kind, each) for kind, each in zip(kinds, value, strict=True))
    if origin in (list, set, frozenset):
        return origin(_fit(arguments[0], each) for each in value)
    if origin is dict:
        return {name: _fit(arguments[1], each) for name, each in value.items()}
    return _fit_class(hint, value)


def _fit_class(kind: Any, value: Any) -> Any:
    if not isinstance(kind, type) or isinstance(value, kind):
        return value
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return _dataclass(kind, value)
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    if issubclass(kind, datetime | date):
        return kind.fromisoformat(value)
    if issubclass(kind, Decimal):
        return Decimal(value)
    if issubclass(kind, float) and isinstance(value, int | Decimal):
        return float(value)
    make: Any = kind
    if issubclass(kind, Enum) or is_uuid(kind):
        return make(value)
    raise ValueError(f"{value!r} is no {kind.__name__}")
