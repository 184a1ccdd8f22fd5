"""Key attributes are scalars: no path of an expression may lead into one."""

from __future__ import annotations

from collections.abc import Set
from typing import Protocol

from hashrange.api.items.arguments import check_scalar_keys
from hashrange.model.schema import Table


class Expression(Protocol):
    """An expression with paths: a condition, a projection or an update."""

    @property
    def nested_attributes(self) -> Set[str]: ...


def check_paths(table: Table, expression: Expression | None) -> None:
    """Refuse an expression with a path into a key attribute of the table or of an index."""
    if expression is None or not expression.nested_attributes:
        return
    nested = expression.nested_attributes
    if not table.key_types.keys().isdisjoint(nested):
        check_scalar_keys(nested, table.key_names, "Key")
        for index in table.indexes:
            check_scalar_keys(nested, index.key_names, "IndexKey")
