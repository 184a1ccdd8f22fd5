"""Writes nested mappings as TOML: what a design document needs of it, and no more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_INLINE_WIDTH_MAX: Final = 80
_SECTIONS: Final = frozenset({"tables", "indexes", "entities", "patterns"})


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document as TOML, plain values first, then a section for each mapping."""
    return "\n".join(_section((), document)).strip() + "\n"


def _section(path: tuple[str, ...], content: Mapping[str, Any]) -> Iterator[str]:
    nested: list[tuple[str, Any]] = []
    lines: list[str] = []
    for name, value in content.items():
        is_named = path[-1:] and path[-1] in _SECTIONS
        if is_named or _needs_section(value, keeps_order=path[-1:] == ("attributes",)):
            nested.append((name, value))
        else:
            lines.append(f"{_key(name)} = {_inline(value)}")
    if path and (lines or not nested):
        yield f"\n[{'.'.join(map(_key, path))}]"
    yield from lines
    for name, value in nested:
        if isinstance(value, Mapping):
            yield from _section((*path, name), value)
        else:
            for each in value:
                yield f"\n[[{'.'.join(map(_key, (*path, name)))}]]"
                yield from (f"{_key(key)} = {_inline(item)}" for key, item in each.items())


def _needs_section(value: Any, *, keeps_order: bool) -> bool:
    """Tell whether a value is too deep or too long for one line.

    Sections come after all lines, so entries whose order matters stay in lines of any length.
    """
    if isinstance(value, Mapping):
        is_deep = any(_needs_section(each, keeps_order=False) for each in value.values())
        is_long = len(_inline(value)) > _INLINE_WIDTH_MAX and not keeps_order
        is_nested = any(isinstance(each, Mapping) for each in value.values())
        return is_deep or is_long or is_nested
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(name)} = {_inline(each)}" for name, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, date):
        return value.isoformat()
    return repr(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)
