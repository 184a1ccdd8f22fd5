"""Elements of HTML and SVG as text; content is escaped unless it is markup already."""

from __future__ import annotations

from html import escape
from typing import final


@final
class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


@final
class Number(str):
    """The heading of a column of numbers."""

    __slots__ = ()


Content = str | Markup
Attribute = str | int | float


def element(name: str, *content: Content, **attributes: Attribute) -> Markup:
    """Return an element. `class_` stands for class, an underscore in names for a hyphen."""
    inner = "".join(each if isinstance(each, Markup) else escape(each) for each in content)
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value != ""
    )
    return Markup(f"<{name}{written}>{inner}</{name}>")


def joined(*content: Content) -> Markup:
    """Return contents one after the other."""
    return Markup("".join(each if isinstance(each, Markup) else escape(each) for each in content))


def table_of(head: list[Content], rows: list[Markup], class_: str = "") -> Markup:
    """Return a table with a head and rows that are markup, in a box that scrolls if needed."""
    cells = [element("th", each, class_="n" if isinstance(each, Number) else "") for each in head]
    top = element("thead", element("tr", *cells))
    body = element("tbody", *rows)
    return element("div", element("table", top, body, class_=class_), class_="scroll")


def _text(value: Attribute) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
