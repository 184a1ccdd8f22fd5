"""Tables and indexes as values, for tests that need no catalog."""

from hashrange.model.schema import Index, KeyPart, Table


def make_index(
    name: str,
    *parts: KeyPart,
    is_global: bool = True,
    projected: frozenset[str] | None = None,
) -> Index:
    """Return an index: its first key attribute is the partition key, the others sort."""
    return Index(
        name,
        f"store-{name}",
        is_global=is_global,
        partition=parts[:1],
        sort=parts[1:],
        projection_type="ALL" if projected is None else "INCLUDE",
        projected=projected,
    )


def make_table(*parts: KeyPart, indexes: tuple[Index, ...] = (), shards: int = 1) -> Table:
    """Return a table whose first key attribute is the partition key."""
    keys = [*parts, *(part for index in indexes for part in index.parts)]
    return Table(
        "table",
        id="",
        account="000000000000",
        region="us-east-1",
        store="t1",
        partition=parts[0],
        sort=parts[1] if len(parts) > 1 else None,
        indexes=indexes,
        key_types={part.name: part.type for part in keys},
        version=1,
        shards=shards,
    )
