"""The projection of a SELECT: the parts of an item to return, and their names.

A path is returned under its last name: `m.x` as x. List indexes belong to the name: `l[0][1]` of a
top-level list is returned under that very text, deeper lists take one index into the name. What
follows after that stays wrapped in its maps and lists.
"""

from __future__ import annotations

from typing import final

from hashrange.errors import ValidationException
from hashrange.expressions.nodes import Element, Path
from hashrange.expressions.partiql.terms import KIND, read_document_path, unexpected_component
from hashrange.expressions.partiql.tree import Node, PathTree, Reference, Wildcard
from hashrange.expressions.paths import PathSet, read_path
from hashrange.expressions.projections import Projection
from hashrange.model.values import Item, Value


@final
class _Column:
    """One path of the list: its name in the result, and how much of the path the name covers."""

    __slots__ = ("name", "path", "rest")

    def __init__(self, path: Path) -> None:
        self.path = path
        covered = 1
        while covered < len(path) and isinstance(path[covered], str):
            covered += 1
        name = str(path[covered - 1])
        indexes_max = len(path) if covered == 1 else 1
        while covered < len(path) and isinstance(path[covered], int) and indexes_max:
            name += f"[{path[covered]}]"
            covered += 1
            indexes_max -= 1
        self.name = name
        self.rest: tuple[Element, ...] = path[covered:]

    def read(self, item: Item) -> Value | None:
        value = read_path(item, self.path)
        if value is None:
            return None
        for element in reversed(self.rest):
            value = {"M": {element: value}} if isinstance(element, str) else {"L": [value]}
        return value


@final
class Selection:
    """The parts of an item that a SELECT returns."""

    __slots__ = ("_columns", "attributes", "nested_attributes", "projection")

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.projection = Projection(paths)
        # Top-level attributes in the order of the list, and those it returns a part of.
        self.attributes = tuple(dict.fromkeys(path[0] for path in paths))
        self.nested_attributes = self.projection.nested_attributes
        self._columns = tuple([_Column(path) for path in paths])

    def apply(self, item: Item) -> Item:
        """Return a new item with only the selected parts, under their names."""
        if not self.nested_attributes:
            return self.projection.apply(item)
        selected: Item = {}
        for column in self._columns:
            value = column.read(item)
            if value is not None:
                selected[column.name] = value
        return selected


def read_selection(nodes: list[Node]) -> Selection:
    """Read the list of a SELECT."""
    paths: list[Path] = []
    names: set[str] = set()
    for node in nodes:
        if not isinstance(node, Reference | PathTree):
            raise unexpected_component(node)
        if isinstance(node, PathTree) and isinstance(node.steps[-1], Wildcard):
            raise ValidationException("Changing item's hierarchy while reading isn't supported")
        path = read_document_path(node)
        name = _identifier(path)
        if name in names:
            raise ValidationException(f"Duplicate identifiers in select clause: {name}")
        names.add(name)
        paths.append(path)
    distinct = PathSet(KIND)
    for path in paths:
        distinct.add(path)
    return Selection(tuple(paths))


def _identifier(path: Path) -> str:
    """Return the last name of a path and the indexes after it, which must be unique."""
    identifier = ""
    for element in path:
        identifier = element if isinstance(element, str) else f"{identifier}[{element}]"
    return identifier
