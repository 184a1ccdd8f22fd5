"""Tables and indexes as the data path sees them: keys, projections and where the rows are.

Built once from a catalog record and shared by all requests until the catalog changes; immutable by
convention. The full description of a table (billing, tags, states) stays in its catalog record.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

from hashrange.capacity.table_meters import TableMeter

# Names of stores within the space of a table.
COLLECTIONS: Final = ".c"
EXPIRY: Final = ".x"
# Only where the engine cannot change several shards in one step.
LOCKS: Final = ".k"
# Only where the engine cannot change global index rows in the step of their item.
QUEUE: Final = ".q"


@final
class KeyPart:
    """One key attribute: its name and its type, "S", "N" or "B"."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: str) -> None:
        self.name = name
        self.type = type


@final
class Index:
    """A secondary index. `projected` is None when all attributes are copied."""

    __slots__ = (
        "fill_store",
        "is_global",
        "key_names",
        "name",
        "partition",
        "parts",
        "projected",
        "projection_type",
        "queryable",
        "shards",
        "sort",
        "store",
    )

    def __init__(
        self,
        name: str,
        store: str,
        *,
        fill_store: str = "",
        shards: int = 1,
        is_global: bool,
        partition: tuple[KeyPart, ...],
        sort: tuple[KeyPart, ...],
        projection_type: str,
        projected: frozenset[str] | None,
        queryable: bool = True,
    ) -> None:
        self.name = name
        self.store = store
        self.shards = shards
        self.is_global = is_global
        self.partition = partition
        self.sort = sort
        self.parts = partition + sort
        self.key_names = tuple(part.name for part in self.parts)
        self.projection_type = projection_type  # ALL, KEYS_ONLY or INCLUDE
        # Names kept in the index rows: index keys, table keys and included attributes.
        self.projected = projected
        self.queryable = queryable  # False while a new global index is being filled
        # Marks the items that are in the index already, while it is being filled.
        self.fill_store = fill_store


@final
class StreamLog:
    """Where the changes of a table's items are logged, and how much of the items.

    `bounds` are the first placements of the open shards in order, beginning with the very first;
    `prefixes` are what the keys of those shards' rows begin with.
    """

    __slots__ = ("bounds", "keeps_new", "keeps_old", "prefixes", "store")

    def __init__(
        self, store: str, view_type: str, bounds: tuple[bytes, ...], prefixes: tuple[bytes, ...]
    ) -> None:
        self.store = store
        self.keeps_new = view_type in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
        self.keeps_old = view_type in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")
        self.bounds = bounds
        self.prefixes = prefixes

    def prefix(self, key: bytes) -> bytes:
        """Return the key prefix of the shard that takes an item's changes."""
        # A bound is shorter than the keys that begin with it, hence less than all of them.
        return self.prefixes[bisect_right(self.bounds, key) - 1]


@final
class Table:
    """A table: its keys, its indexes and its stores."""

    __slots__ = (
        "account",
        "arn",
        "by_name",
        "collections_store",
        "encryption_key_arn",
        "expiry_store",
        "fences",
        "filling",
        "has_derived_rows",
        "has_locks",
        "history_stores",
        "id",
        "indexes",
        "insights",
        "key_names",
        "key_types",
        "local_indexes",
        "meter",
        "name",
        "partition",
        "parts",
        "policy",
        "queue_store",
        "region",
        "shards",
        "sort",
        "store",
        "stream",
        "stream_policies",
        "string_names",
        "tags",
        "time_to_live",
    )

    def __init__(
        self,
        name: str,
        *,
        id: str,
        account: str,
        region: str,
        store: str,
        partition: KeyPart,
        sort: KeyPart | None,
        indexes: tuple[Index, ...],
        key_types: dict[str, str],
        version: int,
        shards: int = 1,
        time_to_live: str | None = None,
        stream: StreamLog | None = None,
    ) -> None:
        self.name = name
        self.id = id
        self.account = account
        self.region = region
        self.arn = f"arn:aws:dynamodb:{region}:{account}:table/{name}"
        self.store = store  # the name of its space and of the store of its items
        self.shards = shards
        # Sizes of item collections, kept only for tables with local indexes.
        self.collections_store = store + COLLECTIONS
        self.partition = partition
        self.sort = sort
        self.parts = (partition,) if sort is None else (partition, sort)
        self.key_names = tuple(part.name for part in self.parts)
        # The key names if all key attributes are strings (the common case), otherwise empty.
        self.string_names = self.key_names if all(p.type == "S" for p in self.parts) else ()
        # In the order of their names: errors name the first that cannot hold an item.
        self.indexes = tuple(sorted(indexes, key=lambda index: index.name))
        self.local_indexes = tuple(index for index in indexes if not index.is_global)
        self.by_name = {index.name: index for index in indexes}
        self.filling = tuple(index for index in indexes if not index.queryable)
        # Type of every attribute that is a key of the table or of an index.
        self.key_types = key_types
        # The time-to-live attribute, or None, and the store that orders items by expiry time.
        self.time_to_live = time_to_live
        self.expiry_store = store + EXPIRY
        # Whether a write must decode the old item to update index or expiry rows.
        self.has_derived_rows = bool(indexes) or time_to_live is not None
        self.stream = stream  # None when the table has no enabled stream
        self.history_stores: tuple[str, ...] = ()  # where earlier versions of items are kept
        # Whether items may be locked by transactions, and where changes of global index rows are
        # left for the follower; set by the catalog if the engine needs it.
        self.has_locks = False
        self.queue_store = ""
        # The table version that this object was built from; decisions are fenced by it.
        self.fences = ((store, version),)
        # Its resource policy, those of its streams by label, and its tags by names in lower case:
        # set by `make_table`, for those who decide about access.
        self.policy: str | None = None
        self.encryption_key_arn: str | None = None  # of the KMS key that protects it
        self.stream_policies: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.insights: dict[str, str] = {}  # modes by index; the table itself is ""
        self.meter: TableMeter | None = None  # None when nothing of it is limited
