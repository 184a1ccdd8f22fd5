"""Tables and indexes of a design: keys, projections, capacity and the settings around them.

A key attribute is given as its name (a string attribute) or as `KeyAttribute(name, "N")`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from hashrange.toolkit.errors import DesignError

KeyType = Literal["S", "N", "B"]
IndexKind = Literal["global", "local"]
ProjectionType = Literal["ALL", "KEYS_ONLY", "INCLUDE"]
CapacityMode = Literal["on_demand", "provisioned"]
StreamView = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]
Encryption = Literal["owned", "managed", "customer"]
TableClass = Literal["STANDARD", "STANDARD_INFREQUENT_ACCESS"]


@final
@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """An attribute that is part of a key, and its type."""

    name: str
    type: KeyType = "S"

    def __str__(self) -> str:
        return self.name


KeySpec = str | KeyAttribute
"""How a key attribute is written down: its name alone means type S."""


def key_attribute(spec: KeySpec) -> KeyAttribute:
    """Return a key attribute, given as one or by its name."""
    return KeyAttribute(spec) if isinstance(spec, str) else spec


@final
@dataclass(frozen=True, slots=True)
class AutoScaling:
    """Bounds and target (percent) of automatic scaling, for reads and writes alike."""

    minimum_units: int
    maximum_units: int
    target_percent: int = 70


@final
@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity mode of a table or an index.

    `read_units` and `write_units` are the provisioned units; in mode on_demand they are the
    optional maximum throughput, and 0 sets none.
    """

    mode: CapacityMode = "on_demand"
    read_units: int = 0
    write_units: int = 0
    auto_scaling: AutoScaling | None = None


ON_DEMAND = Capacity()


@final
@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index, with the access patterns that justify it.

    `serves` names the patterns the index exists for: the declared justification, which a checker
    compares with the patterns that use it. `sparse` says that only some items are meant to be in
    the index. `include` lists the non-key attributes of projection INCLUDE.
    """

    name: str
    partition_key: KeySpec
    sort_key: KeySpec | None = None
    kind: IndexKind = "global"
    projection: ProjectionType = "ALL"
    include: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    reason: str = ""
    sparse: bool = False
    capacity: Capacity | None = None

    @property
    def partition(self) -> KeyAttribute:
        """The partition key attribute."""
        return key_attribute(self.partition_key)

    @property
    def sort(self) -> KeyAttribute | None:
        """The sort key attribute, if there is one."""
        return None if self.sort_key is None else key_attribute(self.sort_key)

    @property
    def key_attributes(self) -> tuple[KeyAttribute, ...]:
        """Partition key and, if there is one, sort key."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A table: its keys, its indexes and the settings a design has an opinion on.

    `ttl` is the attribute with the expiry time, empty for none. `entity_attribute` is the attribute
    in which items carry the name of their entity; empty means that entities are told apart by
    their keys alone. `critical` says that losing the data would matter, which calls for
    point-in-time recovery. `environment` is the stage the table belongs to (production, test).
    """

    name: str
    partition_key: KeySpec
    sort_key: KeySpec | None = None
    indexes: tuple[Index, ...] = ()
    ttl: str = ""
    capacity: Capacity = ON_DEMAND
    stream: StreamView | None = None
    encryption: Encryption = "owned"
    point_in_time_recovery: bool = False
    deletion_protection: bool = False
    critical: bool = False
    table_class: TableClass = "STANDARD"
    entity_attribute: str = "type"
    environment: str = ""
    tags: dict[str, str] = field(default_factory=dict, hash=False)
    description: str = ""

    @property
    def partition(self) -> KeyAttribute:
        """The partition key attribute."""
        return key_attribute(self.partition_key)

    @property
    def sort(self) -> KeyAttribute | None:
        """The sort key attribute, if there is one."""
        return None if self.sort_key is None else key_attribute(self.sort_key)

    @property
    def key_attributes(self) -> tuple[KeyAttribute, ...]:
        """Partition key and, if there is one, sort key."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    @property
    def all_key_attributes(self) -> tuple[KeyAttribute, ...]:
        """The key attributes of the table and of its indexes, each once."""
        found = dict.fromkeys(self.key_attributes)
        for index in self.indexes:
            found.update(dict.fromkeys(index.key_attributes))
        return tuple(found)

    def index(self, name: str) -> Index:
        """Return an index by name; DesignError if there is none."""
        for index in self.indexes:
            if index.name == name:
                return index
        raise DesignError(f"table {self.name} has no index {name}")

    def keys_of(self, index: str = "") -> Index | Table:
        """Return what holds the key schema a read uses: the table, or the index if one is named."""
        return self.index(index) if index else self
