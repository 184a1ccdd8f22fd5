"""A design as a document: TOML, YAML or JSON, for people in other languages.

The document mirrors the dataclasses of the design, field by field. Tables, indexes, entities,
attributes and patterns are mappings from their names; waivers are a list. Short forms:

    partition_key = "PK"                          a key attribute of type S
    attributes = { total = "N" }                  an attribute with nothing but a type
    sort_key = "PROFILE"                          equals
    sort_key = { begins_with = "ORDER#" }         the other operators by their names

`parse_design` and `dump_design` are inverse to each other, except that models, which are Python
classes, are left out: their attributes are written instead.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
import types
import typing
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal

from hashrange.toolkit.design.entities import Attribute, Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import AccessPattern, SortCondition, SortOperator
from hashrange.toolkit.design.tables import Index, KeyAttribute, Table
from hashrange.toolkit.design.toml_text import toml_text
from hashrange.toolkit.errors import DesignError

_NAMED: Final = (Table, Index, Entity, Attribute, AccessPattern)
_OPERATORS: Final = typing.get_args(SortOperator)


def load_design(path: str | Path) -> Design:
    """Read a design from a .toml, .yaml, .yml or .json file."""
    file = Path(path)
    text = file.read_text(encoding="utf-8")
    try:
        return parse_design(_decode(text, file.suffix.lower()))
    except DesignError as error:
        raise DesignError(*(f"{file.name}: {each}" for each in error.problems)) from error


def parse_design(document: Mapping[str, Any]) -> Design:
    """Return the design a document describes; DesignError says what is wrong with it, and where."""
    design = _read(Design, document, "design")
    assert isinstance(design, Design)
    return design


def dump_design(design: Design) -> dict[str, Any]:
    """Return the document that describes a design; fields with their default are left out."""
    return _written(design)


def design_to_toml(design: Design) -> str:
    """Return a design as the text of a TOML file."""
    return toml_text(dump_design(design))


def _decode(text: str, suffix: str) -> Mapping[str, Any]:
    try:
        if suffix == ".toml":
            return tomllib.loads(text)
        if suffix == ".json":
            document = json.loads(text)
        elif suffix in (".yaml", ".yml"):
            document = _decode_yaml(text)
        else:
            raise DesignError(f"a design is a .toml, .yaml or .json file, not {suffix!r}")
    except ValueError as error:
        raise DesignError(f"the file cannot be read: {error}") from error
    if not isinstance(document, Mapping):
        raise DesignError("the file does not hold a mapping")
    return document


def _decode_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise DesignError("reading YAML needs the package pyyaml") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DesignError(f"the file cannot be read: {error}") from error


def _read(kind: type, document: Any, where: str) -> Any:
    """Return an instance of a dataclass from a mapping."""
    if not isinstance(document, Mapping):
        raise DesignError(f"{where}: expected a mapping, not {document!r}")
    hints = typing.get_type_hints(kind)
    known = {each.name: hints[each.name] for each in dataclasses.fields(kind)}
    known.pop("model", None)
    unknown = [str(name) for name in document if name not in known]
    if unknown:
        raise DesignError(f"{where}: unknown {', '.join(unknown)}")
    values = {
        name: _value(known[name], value, f"{where}.{name}") for name, value in document.items()
    }
    try:
        return kind(**values)
    except TypeError as error:
        missing = [
            each.name
            for each in dataclasses.fields(kind)
            if each.name not in values
            and each.default is dataclasses.MISSING
            and each.default_factory is dataclasses.MISSING
        ]
        raise DesignError(f"{where}: {', '.join(missing)} must be given") from error


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        if value not in arguments:
            allowed = ", ".join(repr(each) for each in arguments)
            raise DesignError(f"{where}: {value!r} is none of {allowed}")
        return value
    if origin in (typing.Union, types.UnionType):
        return _any_of(arguments, value, where)
    if origin is tuple:
        return _elements(arguments[0], value, where)
    if origin in (dict, Mapping) or origin is typing.get_origin(Mapping[str, str]):
        if not isinstance(value, Mapping):
            raise DesignError(f"{where}: expected a mapping, not {value!r}")
        return {str(name): str(each) for name, each in value.items()}
    if hint is SortCondition:
        return _sort_condition(value, where)
    kind = origin or hint
    if dataclasses.is_dataclass(kind):
        return _read(typing.cast("type", kind), value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise DesignError(f"{where}: expected {hint.__name__}, not {value!r}")
    return value


def _any_of(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """Return a value of a union: of KeySpec, or of an optional field."""
    if value is None and type(None) in kinds:
        return None
    if KeyAttribute in kinds:
        if isinstance(value, str):
            return value
        return _read(KeyAttribute, value, where)
    if date in kinds and isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise DesignError(f"{where}: {value!r} is no date") from error
    (kind,) = (each for each in kinds if each is not type(None))
    return _value(kind, value, where)


def _elements(kind: Any, value: Any, where: str) -> tuple[Any, ...]:
    named = typing.get_origin(kind) or kind
    if named in _NAMED and isinstance(value, Mapping):
        return tuple(
            _read(named, _with_name(named, name, body), f"{where}.{name}")
            for name, body in value.items()
        )
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise DesignError(f"{where}: expected a list, not {value!r}")
    return tuple(_value(kind, each, f"{where}[{at}]") for at, each in enumerate(value))


def _with_name(kind: type, name: str, body: Any) -> Any:
    if kind is Attribute and isinstance(body, str):
        body = {"type": body}
    return {"name": name, **body} if isinstance(body, Mapping) else body


def _sort_condition(value: Any, where: str) -> SortCondition:
    if isinstance(value, str):
        return SortCondition("=", value)
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in _OPERATORS:
        raise DesignError(f"{where}: expected a text, or one of {', '.join(_OPERATORS)}")
    ((operator, operand),) = value.items()
    operands = operand if isinstance(operand, list | tuple) else [operand]
    if len(operands) != (2 if operator == "between" else 1):
        raise DesignError(f"{where}: between takes two templates, other operators one")
    if not all(isinstance(each, str) for each in operands):
        raise DesignError(f"{where}: a template is a text")
    return SortCondition(operator, *operands)


def _written(part: Any) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for each in dataclasses.fields(part):
        value = getattr(part, each.name)
        if each.name == "model" or value == each.default or value in ((), {}):
            continue
        document[each.name] = _plain(value)
    return document


def _plain(value: Any) -> Any:
    if isinstance(value, KeyAttribute):
        return value.name if value.type == "S" else _written(value)
    if isinstance(value, SortCondition):
        if value.operator == "=":
            return value.value
        templates = list(value.templates)
        return {value.operator: templates if len(templates) > 1 else templates[0]}
    if isinstance(value, tuple):
        if value and isinstance(value[0], _NAMED):
            return {each.name: _without_name(each) for each in value}
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return dict(value)
    return _written(value) if dataclasses.is_dataclass(value) else value


def _without_name(part: Any) -> Any:
    document = _written(part)
    del document["name"]
    if isinstance(part, Attribute) and not document.keys() - {"type"}:
        return part.type
    return document
