"""Projections: the parts of an item to return.

A projection is a tree of paths. Absent values are left out, and so are maps and lists that would
be empty without them. Elements of a list keep their order, without gaps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import final

from hashrange.errors import ValidationException
from hashrange.expressions.binding import (
    PREPARED_MAX,
    Binder,
    NamePairs,
    Refused,
    may_keep,
    run_checks,
)
from hashrange.expressions.nodes import Path
from hashrange.expressions.parser import Parser
from hashrange.expressions.paths import Tree, path_tree
from hashrange.expressions.statics import check_path
from hashrange.model.values import Item, Value


@final
class Projection:
    """The paths to return of an item."""

    __slots__ = ("_is_flat", "_tree", "attributes", "nested_attributes")

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self._tree = path_tree(paths)
        self._is_flat = not any(self._tree.values())
        # Top-level attributes it returns, and those of which it returns only a part.
        self.attributes = frozenset([path[0] for path in paths])
        self.nested_attributes = frozenset([path[0] for path in paths if len(path) > 1])

    def apply(self, item: Item) -> Item:
        """Return a new item with only the projected parts."""
        if self._is_flat:
            attributes = self.attributes
            return {name: value for name, value in item.items() if name in attributes}
        return _project_map(item, self._tree)


def _project_map(content: Item, tree: Tree) -> Item:
    projected: Item = {}
    for name, value in content.items():
        if name in tree:
            below = tree[name]
            part = value if below is None else _project(value, below)
            if part is not None:
                projected[name] = part
    return projected


def _project(value: Value, tree: Tree) -> Value | None:
    """Return the parts of a map or list, or None if there are none."""
    if "M" in value:
        members = _project_map(value["M"], tree)
        return {"M": members} if members else None
    if "L" not in value or not isinstance(next(iter(tree)), int):
        return None
    elements: list[Value] = []
    for index, element in enumerate(value["L"]):
        if index in tree:
            below = tree[index]
            part = element if below is None else _project(element, below)
            if part is not None:
                elements.append(part)
    return {"L": elements} if elements else None


@final
class PreparedProjection:
    """A projection expression bound to its names."""

    __slots__ = ("_checks", "projection", "used_names")

    def __init__(self, binder: Binder, projection: Projection | None) -> None:
        self._checks = tuple(binder.checks)
        self.projection = projection
        self.used_names = frozenset(binder.used_names)

    def bind(self) -> Projection:
        """Return the projection."""
        run_checks(self._checks, {})
        assert self.projection is not None
        return self.projection


def prepare_projection(text: str, names: NamePairs) -> PreparedProjection:
    """Parse a projection expression and bind it to its names, or return it from the cache."""
    return _kept(text, names) if may_keep(text, names) else _prepare(text, names)


def _prepare(text: str, names: NamePairs) -> PreparedProjection:
    kind = "ProjectionExpression"
    nodes = Parser(kind, text).projection()
    for node in nodes:
        check_path(kind, node)
    binder = Binder(kind, names)
    projection = None
    try:
        projection = Projection(tuple(binder.distinct_paths(nodes)))
    except ValidationException as error:
        binder.checks.append(Refused(error.message))
    return PreparedProjection(binder, projection)


_kept = lru_cache(PREPARED_MAX)(_prepare)
