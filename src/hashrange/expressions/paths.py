"""Document paths: reading them from items, and detecting paths that overlap or conflict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

from hashrange.errors import ValidationException
from hashrange.expressions.nodes import Element, Path
from hashrange.model.values import Item, Value

Tree = dict[Element, "Tree | None"]
"""Paths by their elements; None where a path ends."""

_HASH_BITS: Final = 2**32
_TABLE_SIZE_MIN: Final = 16


def read_path(item: Item, path: Path) -> Value | None:
    """Return the value at a path, or None if there is none."""
    value = item.get(path[0])
    for element in path[1:]:
        if value is None:
            return None
        if type(element) is int:
            content = value.get("L")
            if content is None or element >= len(content):
                return None
            value = content[element]
        else:
            content = value.get("M")
            if content is None:
                return None
            value = content.get(element)
    return value


def print_path(path: Sequence[Element]) -> str:
    """Write a path as AWS does in its messages."""
    return f"[{', '.join(f'[{part}]' if isinstance(part, int) else part for part in path)}]"


def path_tree(paths: Iterable[Path]) -> Tree:
    """Return paths that do not overlap as a tree."""
    root: Tree = {}
    for path in paths:
        node = root
        step: Element = path[0]
        for element in path[1:]:
            below = node.setdefault(step, {})
            assert below is not None
            node = below
            step = element
        node[step] = None
    return root


@final
class PathSet:
    """A set of paths that do not overlap and do not conflict (map or list at the same place)."""

    __slots__ = ("_kind", "_root")

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._root: Tree = {}

    def add(self, path: Path) -> None:
        """Add a path, or refuse it if it overlaps or conflicts with another."""
        node = self._root
        for depth, element in enumerate(path):
            if node and isinstance(element, int) != isinstance(next(iter(node)), int):
                raise _clash(self._kind, "conflict", path, path[:depth], node)
            is_last = depth == len(path) - 1
            if element in node and (is_last or node[element] is None):
                raise _clash(self._kind, "overlap", path, path[:depth], node)
            if is_last:
                node[element] = None
            else:
                below = node.setdefault(element, {})
                assert below is not None
                node = below


def _clash(
    kind: str, verb: str, path: Path, prefix: tuple[Element, ...], node: Tree
) -> ValidationException:
    other = prefix + _last_leaf(node)
    return ValidationException(
        f"{f'Invalid {kind}: ' if kind else ''}Two document paths {verb} with each other; "
        "must remove or rewrite one of these paths; "
        f"path one: {print_path(path)}, path two: {print_path(other)}"
    )


def _last_leaf(node: Tree) -> tuple[Element, ...]:
    """Return the path AWS names as the second one: the last it finds in its hash table."""
    leaf: list[Element] = []
    below: Tree | None = node
    while below is not None:
        size = _TABLE_SIZE_MIN
        while len(below) > size * 3 // 4:
            size *= 2
        # Paths were added in reverse order; paths in one slot are found in the order of the text.
        last, slot = None, -1
        for element in below:
            element_slot = _slot(element, size)
            if element_slot > slot:
                last, slot = element, element_slot
        assert last is not None
        leaf.append(last)
        below = below[last]
    return tuple(leaf)


def _slot(element: Element, size: int) -> int:
    """Return the slot of an element in a java.util.HashMap of this size."""
    if isinstance(element, int):
        code = element
    else:
        code = 0
        for unit in memoryview(element.encode("utf-16-le")).cast("H"):
            code = (code * 31 + unit) % _HASH_BITS
    return (code ^ code >> 16) & (size - 1)
