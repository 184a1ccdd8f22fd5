"""Values in XML by their shapes: results to elements, and elements to parameters."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from hashrange.errors import SerializationException
from hashrange.limits import CALL_LEVELS_MAX
from hashrange.wire.protocols import timestamps
from hashrange.wire.protocols.document_values import (
    FLOATING_NUMBERS,
    SPECIAL_NUMBERS,
    WHOLE_NUMBERS,
    check_range,
    float_text,
    read_base64,
    wire_name,
)
from hashrange.wire.protocols.service_models import Shape
from hashrange.wire.protocols.xml_document import Element, escape

_WHOLE_DIGITS_MAX = 20


def write_members(shape: Shape, value: Mapping[str, Any], out: list[str]) -> None:
    """Append the elements of a structure's members; those bound to headers are not among them."""
    for name, member in shape.members.items():
        item = value.get(name)
        if item is None or "location" in member.serialization:
            continue
        if not member.serialization.get("xmlAttribute"):
            _write_member(member, name, item, out)
    assert value.keys() <= shape.members.keys(), f"{shape.name} has not all of {list(value)}"


def _write_member(shape: Shape, name: str, value: Any, out: list[str]) -> None:
    if shape.serialization.get("flattened"):
        if shape.type_name == "list":
            own = shape.member.serialization.get("name")
            for item in value:
                write_element(shape.member, own or wire_name(shape, name), item, out)
        else:
            _write_entries(shape, wire_name(shape, name), value, out)
    else:
        write_element(shape, wire_name(shape, name), value, out)


def write_element(shape: Shape, name: str, value: Any, out: list[str]) -> None:
    """Append the element of a value."""
    kind = shape.type_name
    attributes = _attributes(shape, value)
    out.append(f"<{name}{attributes}>")
    if kind == "structure":
        write_members(shape, value, out)
    elif kind == "list":
        item_name = shape.member.serialization.get("name", "member")
        for item in value:
            write_element(shape.member, item_name, item, out)
    elif kind == "map":
        _write_entries(shape, "entry", value, out)
    else:
        out.append(escape(scalar_text(shape, value, timestamps.ISO_8601)))
    out.append(f"</{name}>")


def _write_entries(shape: Shape, name: str, value: Mapping[str, Any], out: list[str]) -> None:
    key_name, value_name = entry_names(shape)
    for key, item in value.items():
        out.append(f"<{name}>")
        write_element(shape.key, key_name, key, out)
        write_element(shape.value, value_name, item, out)
        out.append(f"</{name}>")


def entry_names(shape: Shape) -> tuple[str, str]:
    """Return what a map calls the key and the value of an entry."""
    return (
        shape.key.serialization.get("name", "key"),
        shape.value.serialization.get("name", "value"),
    )


def _attributes(shape: Shape, value: Any) -> str:
    text = ""
    namespace = shape.serialization.get("xmlNamespace")
    if namespace:
        uri = namespace if isinstance(namespace, str) else namespace["uri"]
        prefix = "" if isinstance(namespace, str) else namespace.get("prefix", "")
        text += f' xmlns:{prefix}="{escape(uri)}"' if prefix else f' xmlns="{escape(uri)}"'
    if shape.type_name == "structure":
        for name, member in shape.members.items():
            if member.serialization.get("xmlAttribute") and value.get(name) is not None:
                shown = escape(scalar_text(member, value[name], timestamps.ISO_8601))
                text += f' {wire_name(member, name)}="{shown}"'
    return text


def scalar_text(shape: Shape, value: Any, time_form: str) -> str:
    """Return the text of a single value; `time_form` is for times whose shape names no form."""
    kind = shape.type_name
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "timestamp":
        return timestamps.write_text(value, shape.serialization.get("timestampFormat", time_form))
    if kind == "blob":
        return b64encode(value).decode()
    if kind in FLOATING_NUMBERS:
        return float_text(float(value))
    return str(value)


def read_scalar(shape: Shape, text: str) -> Any:
    """Return the single value of a text."""
    kind = shape.type_name
    if kind == "boolean":
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise SerializationException(f"'{text[:20]}' is not a valid boolean")
    if kind == "timestamp":
        return timestamps.read_text(text)
    if kind == "blob":
        return read_base64(text)
    if kind in WHOLE_NUMBERS or kind in FLOATING_NUMBERS:
        return _read_number(shape, text.strip())
    return text


def _read_number(shape: Shape, text: str) -> float:
    try:
        if shape.type_name in FLOATING_NUMBERS:
            return SPECIAL_NUMBERS[text] if text in SPECIAL_NUMBERS else float(text)
        if len(text) <= _WHOLE_DIGITS_MAX and text.isascii() and "_" not in text:
            return check_range(int(text), shape)
    except ValueError:
        pass
    raise SerializationException(f"'{text[:20]}' is not a valid number")


def read_element(shape: Shape, element: Element, level: int = 0) -> Any:
    """Return the value of an element."""
    if level > CALL_LEVELS_MAX:
        raise SerializationException("The request is nested too deep")
    kind = shape.type_name
    if kind == "structure":
        return read_members(shape, element, level)
    if kind == "list":
        name = shape.member.serialization.get("name", "member")
        return [read_element(shape.member, item, level + 1) for item in element.all(name)]
    if kind == "map":
        return _read_entries(shape, element.all("entry"), level)
    return read_scalar(shape, element.text)


def read_members(shape: Shape, element: Element, level: int = 0) -> dict[str, Any]:
    """Return the members of a structure that are children or attributes of an element."""
    found: dict[str, Any] = {}
    for name, member in shape.members.items():
        if "location" in member.serialization:
            continue
        known = wire_name(member, name)
        if member.serialization.get("xmlAttribute"):
            given = element.attributes.get(known.rpartition(":")[2])
            if given is not None:
                found[name] = read_scalar(member, given)
        elif member.serialization.get("flattened"):
            children = element.all(known)
            if children and member.type_name == "list":
                found[name] = [read_element(member.member, item, level + 1) for item in children]
            elif children:
                found[name] = _read_entries(member, children, level)
        else:
            child = element.first(known)
            if child is not None:
                found[name] = read_element(member, child, level + 1)
    return found


def _read_entries(shape: Shape, entries: list[Element], level: int) -> dict[str, Any]:
    key_name, value_name = entry_names(shape)
    found = {}
    for entry in entries:
        key, value = entry.first(key_name), entry.first(value_name)
        if key is None or value is None:
            raise SerializationException("An entry of a map lacks its key or value")
        found[key.text] = read_element(shape.value, value, level + 1)
    return found
