"""Catalog records of tables and indexes, and the state and schema derived from them.

No timer changes the state of a table. A record holds the times at which its states end, and the
state is computed from those times and the clock. A record is ignored once `gone_at` has passed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hashrange.errors import CorruptionError
from hashrange.model.keys import PLACEMENT_BYTES
from hashrange.model.recovery import RecoveryRecord, recovery_record
from hashrange.model.schema import COLLECTIONS, EXPIRY, Index, KeyPart, StreamLog, Table
from hashrange.model.streams import StreamRecord, change_prefix, stream_record

FORMAT: Final = 2


TIME_TO_LIVE_FILL: Final = ":ttl"
"""Names the expiry index among the indexes being filled; no secondary index can have this name."""

InsightSetting = dict[str, Any]
"""Contributor insights of a table or index; see `insights`."""

KeySchema = list[dict[str, str]]
"""As on the wire: AttributeName and KeyType, partition key first."""


@dataclass(slots=True)
class Throughput:
    """Provisioned capacity and the history of its changes; zero units when on demand.

    `before` is the old capacity, which is described until the last change is complete.
    """

    read_units: int = 0
    write_units: int = 0
    increased_at: float | None = None
    decreased_at: float | None = None
    decreases: int = 0
    decreases_day: int = 0  # days since 1970 (UTC) to which `decreases` belongs
    before: Throughput | None = None

    def described(self, status: str) -> Throughput:
        """Return the throughput to describe while the table has this status."""
        return self.before if self.before is not None and status == "UPDATING" else self


@dataclass(slots=True)
class IndexRecord:
    """A secondary index. A local one has its store in the space of its table."""

    name: str
    store: str
    shards: int
    is_global: bool
    key_schema: KeySchema
    projection_type: str
    non_key_attributes: list[str]
    throughput: Throughput = field(default_factory=Throughput)
    on_demand: dict[str, int] | None = None
    warm: dict[str, int] | None = None
    is_filled: bool = True
    fill_at: float = 0.0  # when filling may begin, for an index added to a table
    updated_until: float = 0.0
    gone_at: float | None = None  # set once it is being deleted

    def status(self, now: float) -> str:
        """Return its IndexStatus, given that the table itself is active."""
        if self.gone_at is not None:
            return "DELETING"
        if not self.is_filled:
            return "CREATING"
        return "UPDATING" if now < self.updated_until else "ACTIVE"


@dataclass(slots=True)
class TimeToLive:
    """The time-to-live setting; the last change takes effect at `settled_at`."""

    attribute: str
    is_enabled: bool
    changed_at: float
    settled_at: float
    is_filled: bool = False  # whether items older than the setting are in the expiry index

    def status(self, now: float) -> str:
        """Return its TimeToLiveStatus."""
        if self.is_enabled:
            return "ENABLED" if self.is_filled and now >= self.settled_at else "ENABLING"
        return "DISABLED" if now >= self.settled_at else "DISABLING"


@dataclass(slots=True)
class ResourcePolicy:
    """A policy document of a table or stream, as it is shown, and the id of its revision."""

    document: str
    revision: str


@dataclass(slots=True)
class DataKey:
    """A key that rows of a table are sealed with: its marker, sealed with a KMS key, which one."""

    marker: str
    sealed: str
    key_arn: str


@dataclass(slots=True)
class TableRecord:
    """A table with all its settings."""

    name: str
    id: str
    account: str
    region: str
    store: str  # the name of its space, and of the store of its items
    shards: int
    key_schema: KeySchema
    attribute_types: dict[str, str]  # in the order in which they were defined
    created_at: float
    active_at: float
    billing_mode: str
    throughput: Throughput
    indexes: list[IndexRecord] = field(default_factory=list)
    updated_until: float = 0.0
    gone_at: float | None = None  # set once it is being deleted
    on_demand_at: float | None = None  # when it last became PAY_PER_REQUEST, if ever
    table_class: str | None = None
    table_class_at: float | None = None
    is_protected: bool = False
    on_demand: dict[str, int] | None = None
    warm: dict[str, int] | None = None
    encryption_key_arn: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    time_to_live: TimeToLive | None = None
    stream: StreamRecord | None = None  # the latest, which may have been disabled
    version: int = 0  # counts the changes that requests can see
    is_loading: bool = False  # while a bulk load fills it: CREATING, and unknown to item requests
    policy: ResourcePolicy | None = None
    insights: dict[str, InsightSetting] = field(default_factory=dict)  # by index; "" is the table
    stream_policies: dict[str, ResourcePolicy] = field(default_factory=dict)  # by stream label
    recovery: RecoveryRecord | None = None  # while it keeps its history
    snapshots: dict[str, str] = field(default_factory=dict)  # histories of backups, by backup id
    restore: dict[str, Any] | None = None  # its RestoreSummary, if it was restored
    # The first one seals what is written, if the table is encrypted with a KMS key; the others are
    # there until no row is sealed with them.
    data_keys: list[DataKey] = field(default_factory=list)
    is_resealing: bool = False  # whether rows may be sealed in another way than they should be

    @property
    def arn(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"

    @property
    def collections_store(self) -> str:
        """The store of its item collection sizes, if it has local indexes."""
        return self.store + COLLECTIONS

    @property
    def expiry_store(self) -> str:
        """The store that orders items by expiry time, if time to live is enabled."""
        return self.store + EXPIRY

    def fill_store(self, index: IndexRecord) -> str:
        """Return the store that marks which items a new index already holds."""
        return f"{self.store}.{index.store}"

    @property
    def expires(self) -> bool:
        """Tell whether its items expire."""
        return self.time_to_live is not None and self.time_to_live.is_enabled

    @property
    def is_on_demand(self) -> bool:
        return self.billing_mode == "PAY_PER_REQUEST"

    def status(self, now: float) -> str:
        """Return its TableStatus."""
        if self.gone_at is not None:
            return "DELETING"
        if now < self.active_at or self.is_loading:
            return "CREATING"
        if now < self.updated_until or any(now < index.fill_at for index in self.indexes):
            return "UPDATING"
        return "ACTIVE"

    def takes_items(self, now: float) -> bool:
        """Tell whether item requests may use it."""
        return self.gone_at is None and self.active_at <= now and not self.is_loading

    def live_indexes(self, now: float) -> list[IndexRecord]:
        """Return the indexes to describe: all but those whose deletion is complete."""
        return [index for index in self.indexes if index.gone_at is None or now < index.gone_at]

    def index(self, name: str) -> IndexRecord | None:
        """Return an index that is not being deleted."""
        for index in self.indexes:
            if index.name == name and index.gone_at is None:
                return index
        return None

    def stores(self) -> list[str]:
        """Return the names of all its stores."""
        stores = [self.store]
        for index in self.indexes:
            if index.gone_at is None:
                stores.append(index.store)
            if not index.is_filled:
                stores.append(self.fill_store(index))
        if any(not index.is_global for index in self.indexes):
            stores.append(self.collections_store)
        if self.expires:
            stores.append(self.expiry_store)
        return stores + self.history_stores()

    def history_stores(self) -> list[str]:
        """Return the stores to which its changes add what they replace."""
        recovery = [] if self.recovery is None else [self.recovery.store]
        return recovery + list(self.snapshots.values())

    def fills(self) -> list[str]:
        """Return the names of its indexes that are being filled."""
        fills = [index.name for index in self.indexes if not index.is_filled]
        if self.time_to_live is not None and self.expires and not self.time_to_live.is_filled:
            fills.append(TIME_TO_LIVE_FILL)
        return fills

    def sealed_spaces(self) -> bytes | None:
        """Return the row that tells which spaces are sealed, and how; None if there are none."""
        if not self.data_keys or (self.gone_at is not None and self.stream is None):
            return None
        indexes = [index.store for index in self.indexes if index.is_global]
        return orjson.dumps(
            {
                "account": self.account,
                "table": self.name,
                "spaces": [self.store, *indexes],
                "keys": self.data_keys,
                "is_sealing": self.encryption_key_arn is not None,
            }
        )

    def pack(self) -> bytes:
        """Return its row."""
        return orjson.dumps({"format": FORMAT, "table": self})


def unpack_record(row: bytes) -> TableRecord:
    """Return the record of a row."""
    try:
        document = orjson.loads(row)
        if document["format"] != FORMAT:
            raise CorruptionError(f"catalog record of format {document['format']!r}")
        return _table_record(document["table"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CorruptionError(f"row is not a catalog record: {row[:80]!r}") from error


def plain_record(record: TableRecord) -> dict[str, Any]:
    """Return a record as plain values, to be kept elsewhere."""
    members: dict[str, Any] = orjson.loads(orjson.dumps(record))
    return members


def record_of(members: dict[str, Any]) -> TableRecord:
    """Return the record that was kept as plain values."""
    return _table_record(orjson.loads(orjson.dumps(members)))


def _table_record(members: dict[str, Any]) -> TableRecord:
    indexes = []
    for index in members["indexes"]:
        throughput = _throughput(index.pop("throughput"))
        indexes.append(IndexRecord(throughput=throughput, **index))
    members["indexes"] = indexes
    members["throughput"] = _throughput(members["throughput"])
    if members.get("time_to_live") is not None:
        members["time_to_live"] = TimeToLive(**members["time_to_live"])
    if members.get("stream") is not None:
        members["stream"] = stream_record(members["stream"])
    members["recovery"] = recovery_record(members.get("recovery"))
    if members.get("policy") is not None:
        members["policy"] = ResourcePolicy(**members["policy"])
    members["stream_policies"] = {
        label: ResourcePolicy(**policy)
        for label, policy in members.get("stream_policies", {}).items()
    }
    members["data_keys"] = [DataKey(**key) for key in members.get("data_keys", ())]
    return TableRecord(**members)


def _throughput(members: dict[str, Any]) -> Throughput:
    before = members.pop("before", None)
    return Throughput(before=None if before is None else _throughput(before), **members)


def make_table(record: TableRecord) -> Table:
    """Return a record's table as the data path sees it."""
    partition, sort = _key_parts(record.key_schema, record.attribute_types)
    indexes = tuple(_make_index(record, index) for index in record.indexes if index.gone_at is None)
    names = [part.name for part in partition + sort]
    for index in indexes:
        names.extend(index.key_names)
    setting = record.time_to_live
    table = Table(
        record.name,
        id=record.id,
        account=record.account,
        region=record.region,
        store=record.store,
        partition=partition[0],
        sort=sort[0] if sort else None,
        indexes=indexes,
        key_types={name: record.attribute_types[name] for name in names},
        time_to_live=setting.attribute if setting is not None and setting.is_enabled else None,
        version=record.version,
        shards=record.shards,
        stream=_make_log(record.stream),
    )
    table.history_stores = tuple(record.history_stores())
    table.insights = {
        name: setting["mode"] for name, setting in record.insights.items() if setting["is_enabled"]
    }
    table.policy = None if record.policy is None else record.policy.document
    table.encryption_key_arn = record.encryption_key_arn if record.data_keys else None
    table.stream_policies = {
        label: policy.document for label, policy in record.stream_policies.items()
    }
    table.tags = {name.lower(): value for name, value in record.tags.items()}
    return table


def _make_log(stream: StreamRecord | None) -> StreamLog | None:
    if stream is None or not stream.is_enabled:
        return None
    shards = stream.open_shards()
    return StreamLog(
        stream.store,
        stream.view_type,
        tuple(shard.first.to_bytes(PLACEMENT_BYTES, "big") for shard in shards),
        tuple(change_prefix(shard.number) for shard in shards),
    )


def _make_index(record: TableRecord, index: IndexRecord) -> Index:
    partition, sort = _key_parts(index.key_schema, record.attribute_types)
    projected = None
    if index.projection_type != "ALL":
        projected = frozenset(
            [element["AttributeName"] for element in record.key_schema + index.key_schema]
            + index.non_key_attributes
        )
    return Index(
        index.name,
        index.store,
        fill_store=record.fill_store(index) if index.is_global else "",
        shards=index.shards,
        is_global=index.is_global,
        partition=partition,
        sort=sort,
        projection_type=index.projection_type,
        projected=projected,
        queryable=index.is_filled,
    )


def _key_parts(
    key_schema: KeySchema, types: dict[str, str]
) -> tuple[tuple[KeyPart, ...], tuple[KeyPart, ...]]:
    partition: list[KeyPart] = []
    sort: list[KeyPart] = []
    for element in key_schema:
        name = element["AttributeName"]
        parts = partition if element["KeyType"] == "HASH" else sort
        parts.append(KeyPart(name, types[name]))
    return tuple(partition), tuple(sort)
