"""The tables in Cassandra and the statements on them; both are versioned together.

rows      one partition per shard of a space; see shard_state for its head and books (store 0)
spaces    the stores of each space, changed by compare-and-set
leases    who holds which lease; rows vanish when they are not renewed
signals   hints for other processes: spaces with new appended rows, places that announce changes
chores    stores that were dropped, and whose rows are still to be deleted
format    the version of all this

`rows` is written by conditional batches only, except stores that are only merged. No read repairs
it: repairing single rows would break the atomicity of steps. Tables have fixed ids, so that
processes that create them at once create the same ones.
"""

from __future__ import annotations

import uuid
from typing import Any, Final, final

from cassandra.cluster import Session

from hashrange.errors import EngineError

FORMAT: Final = 1

_SHARDED: Final = (
    "read_repair = 'NONE' AND gc_grace_seconds = 864000 "
    "AND compaction = {'class': 'UnifiedCompactionStrategy'} "
    "AND speculative_retry = '99p' AND default_time_to_live = 0"
)
TABLES: Final = {
    "rows": (
        "space text, shard int, store int, key blob, value blob, n bigint, "
        "PRIMARY KEY ((space, shard), store, key)",
        _SHARDED,
    ),
    "spaces": ("space text PRIMARY KEY, stores blob, n bigint", "read_repair = 'NONE'"),
    "leases": ("name text PRIMARY KEY, holder blob", "gc_grace_seconds = 86400"),
    "signals": (
        "kind int, space text, shard int, mark blob, PRIMARY KEY (kind, space, shard)",
        "gc_grace_seconds = 3600",
    ),
    "chores": (
        "kind int, space text, store int, PRIMARY KEY (kind, space, store)",
        "gc_grace_seconds = 600",
    ),
    "format": ("name text PRIMARY KEY, version int", "read_repair = 'NONE'"),
}

_WHERE: Final = "WHERE space = ? AND shard = ?"


def create_schema(session: Session, keyspace: str, replication: str) -> None:
    """Create what is missing, and refuse a keyspace of another version."""
    session.execute(f"CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}")
    for name, (columns, options) in TABLES.items():
        table_id = uuid.uuid5(uuid.NAMESPACE_OID, f"hashrange {FORMAT} {keyspace} {name}")
        session.execute(
            f"CREATE TABLE IF NOT EXISTS {keyspace}.{name} ({columns}) "
            f"WITH id = '{table_id}' AND {options}"
        )
    session.execute(
        f"INSERT INTO {keyspace}.format (name, version) VALUES ('format', {FORMAT}) IF NOT EXISTS"
    )
    found = session.execute(f"SELECT version FROM {keyspace}.format WHERE name = 'format'").one()
    if found is not None and found[0] != FORMAT:
        raise EngineError(
            f"Keyspace {keyspace} has format {found[0]}, and this version of Hashrange knows "
            f"format {FORMAT} only."
        )


@final
class Statements:
    """All prepared statements."""

    def __init__(self, session: Session, keyspace: str) -> None:
        def prepare(text: str) -> Any:
            """Prepare a statement; names of tables in braces get the keyspace."""
            return session.prepare(text.replace("{", f"{keyspace}.").replace("}", ""))

        key_range = (
            f"SELECT key, value, n FROM {{rows}} {_WHERE} AND store = ? AND key >= ? AND key < ?"
        )

        self.read_keys = prepare(
            f"SELECT store, key, value, n FROM {{rows}} {_WHERE} AND (store, key) IN ?"
        )
        self.read_up = prepare(f"{key_range} LIMIT ?")
        self.read_down = prepare(f"{key_range} ORDER BY store DESC, key DESC LIMIT ?")
        self.move_head = prepare(
            f"UPDATE {{rows}} SET value = ?, n = ? {_WHERE} AND store = 0 AND key = 0x00 IF n = ?"
        )
        self.put = prepare(
            "INSERT INTO {rows} (space, shard, store, key, value, n) VALUES (?, ?, ?, ?, ?, ?)"
        )
        self.delete = prepare(f"DELETE FROM {{rows}} {_WHERE} AND store = ? AND key = ?")
        self.delete_store = prepare(f"DELETE FROM {{rows}} {_WHERE} AND store = ?")
        self.merge_put = prepare(
            "INSERT INTO {rows} (space, shard, store, key, value, n) VALUES (?, ?, ?, ?, ?, 0) "
            "USING TIMESTAMP ?"
        )
        self.merge_delete = prepare(
            f"DELETE FROM {{rows}} USING TIMESTAMP ? {_WHERE} AND store = ? AND key = ?"
        )
        self.read_space = prepare("SELECT stores, n FROM {spaces} WHERE space = ?")
        self.change_space = prepare(
            "UPDATE {spaces} SET stores = ?, n = ? WHERE space = ? IF n = ?"
        )
        self.read_lease = prepare("SELECT holder FROM {leases} WHERE name = ?")
        self.take_lease = prepare(
            "INSERT INTO {leases} (name, holder) VALUES (?, ?) IF NOT EXISTS USING TTL ?"
        )
        self.renew_lease = prepare(
            "UPDATE {leases} USING TTL ? SET holder = ? WHERE name = ? IF holder = ?"
        )
        self.release_lease = prepare("DELETE FROM {leases} WHERE name = ? IF holder = ?")
        self.signal = prepare(
            "INSERT INTO {signals} (kind, space, shard, mark) VALUES (?, ?, ?, ?) USING TTL ?"
        )
        self.read_signals = prepare("SELECT space, shard, mark FROM {signals} WHERE kind = ?")
        self.add_chore = prepare("INSERT INTO {chores} (kind, space, store) VALUES (0, ?, ?)")
        self.read_chores = prepare("SELECT space, store FROM {chores} WHERE kind = 0 LIMIT 100")
        self.end_chore = prepare("DELETE FROM {chores} WHERE kind = 0 AND space = ? AND store = ?")
