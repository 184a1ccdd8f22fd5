"""XML as protocols use it: elements with attributes, either text or children, names without prefix.

Reading refuses document types (so that no entity can be defined), and bounds nesting and the number
of elements.
"""

from __future__ import annotations

import re
from typing import Final, final
from xml.parsers import expat

from hashrange.errors import SerializationException
from hashrange.limits import CALL_ITEMS_MAX, CALL_LEVELS_MAX

DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE_END: Final = "}"
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#xD;"}
# What XML 1.0 cannot hold in any form.
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPECIAL: Final = re.compile('[&<>"\r]')


def escape(text: str) -> str:
    """Return text that may stand in an element or attribute."""
    text = _FORBIDDEN.sub("\ufffd", text)
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], text)


@final
class Element:
    """An element that was read."""

    __slots__ = ("attributes", "children", "name", "text")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""

    def all(self, name: str) -> list[Element]:
        """Return the children of a name."""
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Element | None:
        """Return the first child of a name."""
        return next((child for child in self.children if child.name == name), None)


def read_document(body: bytes) -> Element:
    """Return the root element of a document."""
    builder = _Builder()
    # No separator would join name space and name; a brace occurs in neither.
    parser = expat.ParserCreate(namespace_separator=_NAMESPACE_END)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    parser.StartDoctypeDeclHandler = builder.refuse_document_type
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        raise SerializationException(f"Malformed XML: {error}") from None
    assert builder.root is not None, "expat refuses documents without a root"
    return builder.root


@final
class _Builder:
    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        # The text of the innermost element, in pieces: joining one by one takes squared time.
        self._texts: list[str] = []
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) >= CALL_LEVELS_MAX or self._count > CALL_ITEMS_MAX:
            raise SerializationException("The document is too large")
        local = {_local_name(key): value for key, value in attributes.items()}
        element = Element(_local_name(name), local)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        self._texts.clear()

    def end(self, name: str) -> None:
        element = self._open.pop()
        # Text between children means nothing.
        if not element.children:
            element.text = "".join(self._texts)
        self._texts.clear()

    def characters(self, text: str) -> None:
        self._texts.append(text)

    def refuse_document_type(self, *declaration: object) -> None:
        raise SerializationException("A document type is not accepted")


def _local_name(name: str) -> str:
    return name.rpartition(_NAMESPACE_END)[2]
