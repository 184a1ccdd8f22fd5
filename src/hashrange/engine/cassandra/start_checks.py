"""Refuses clusters that cannot keep what Hashrange promises, saying what to change."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final, final

from cassandra.cluster import NoHostAvailable, Session

from hashrange.engine.cassandra.schema import TABLES
from hashrange.errors import EngineError

_CLOCK_SECONDS_MAX: Final = 5.0
_SETTINGS: Final = (
    "SELECT name, value FROM system_views.settings "
    "WHERE name IN ('commitlog_sync', 'paxos_variant', 'max_mutation_size')"
)
_MEGABYTE: Final = 1 << 20
_MUTATION_BYTES_MIN: Final = 16 * _MEGABYTE


@final
@dataclass(frozen=True, slots=True)
class Demands:
    """What the operator asks of the cluster."""

    replication: int = 3
    # Accept nodes that acknowledge writes before they are on disk.
    allow_periodic_commit_log: bool = False

    def replication_of(self, session: Session) -> str:
        """Return the replication of a new keyspace, in the data centre of this session."""
        return (
            f"{{'class': 'NetworkTopologyStrategy', '{_datacenter(session)}': {self.replication}}}"
        )


def _datacenter(session: Session) -> str:
    [row] = session.execute("SELECT data_center FROM system.local")
    return str(row[0])


def check_nodes(session: Session, keyspace: str, demands: Demands) -> None:
    """Refuse nodes with unsafe settings, and a keyspace with other replicas or table options."""
    hosts = [host for host in session.cluster.metadata.all_hosts() if host.is_up]
    datacenter = _datacenter(session)
    local = [host for host in session.cluster.metadata.all_hosts() if host.datacenter == datacenter]
    if len(local) < demands.replication:
        raise EngineError(
            f"Data centre {datacenter} has {len(local)} nodes, too few for {demands.replication} "
            "replicas. Add nodes, or give --replication a smaller number; with fewer than 3 the "
            "loss of one node stops the service."
        )
    for host in hosts:
        try:
            found = dict(tuple(row) for row in session.execute(_SETTINGS, host=host))
            check_settings(str(host.address), found, demands)
            _check_clock(session, host)
        except NoHostAvailable:
            continue  # it went down just now, and one node may be down
    _check_keyspace(session, keyspace, datacenter, demands)


def check_settings(address: str, settings: dict[str, str], demands: Demands) -> None:
    """Refuse a node whose settings lose acknowledged writes or break linearisability."""
    if settings.get("commitlog_sync") == "periodic" and not demands.allow_periodic_commit_log:
        raise EngineError(
            f"Node {address} has commitlog_sync: periodic, so it acknowledges writes up to ten "
            "seconds before they are on disk. Set commitlog_sync: group in its cassandra.yaml, or "
            "give --allow-periodic-commit-log to accept that a power loss takes such writes."
        )
    if settings.get("paxos_variant", "v2") == "v1":
        raise EngineError(
            f"Node {address} has paxos_variant: v1. Set paxos_variant: v2 in its cassandra.yaml; "
            "strong reads rely on it."
        )
    if (size := _bytes_of(settings.get("max_mutation_size", ""))) and size < _MUTATION_BYTES_MIN:
        raise EngineError(
            f"Node {address} has max_mutation_size {settings['max_mutation_size']}, too small for "
            "the largest transactions. Set commitlog_segment_size to 32MiB at least, better 64MiB."
        )


def _bytes_of(text: str) -> int:
    """Return a size such as 32MiB in bytes; 0 if it is not understood."""
    for unit, factor in (("KiB", 1024), ("MiB", _MEGABYTE), ("GiB", 1024 * _MEGABYTE), ("B", 1)):
        number = text.removesuffix(unit)
        if number != text and number.isdigit():
            return int(number) * factor
    return 0


def _check_clock(session: Session, host: Any) -> None:
    before = time.time()
    [(now,)] = session.execute("SELECT toUnixTimestamp(now()) FROM system.local", host=host)
    after = time.time()
    node_time = now / 1000
    if not before - _CLOCK_SECONDS_MAX <= node_time <= after + _CLOCK_SECONDS_MAX:
        raise EngineError(
            f"The clock of node {host.address} and the clock of this machine are "
            f"{abs(node_time - before):.0f} s apart. Synchronise them with NTP: time to live, "
            "streams and leases need times that agree."
        )


def _check_keyspace(session: Session, keyspace: str, datacenter: str, demands: Demands) -> None:
    rows = list(
        session.execute(
            "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = %s", (keyspace,)
        )
    )
    if not rows:
        return
    replicas = dict(rows[0][0]).get(datacenter)
    if replicas != str(demands.replication):
        raise EngineError(
            f"Keyspace {keyspace} keeps {replicas or 'no'} replicas in data centre {datacenter}, "
            f"and --replication says {demands.replication}. Make both agree: change one of them, "
            "and after ALTER KEYSPACE run a full repair before Hashrange starts."
        )
    options = session.execute(
        "SELECT table_name, read_repair, default_time_to_live FROM system_schema.tables "
        "WHERE keyspace_name = %s",
        (keyspace,),
    )
    for table, read_repair, time_to_live in options:
        if table in ("rows", "spaces") and read_repair != "NONE":
            raise EngineError(
                f"Table {keyspace}.{table} has read_repair = '{read_repair}', which breaks the "
                f"atomicity of writes. ALTER TABLE {keyspace}.{table} WITH read_repair = 'NONE'."
            )
        if table in TABLES and time_to_live:
            raise EngineError(
                f"Table {keyspace}.{table} has default_time_to_live = {time_to_live}, so data "
                f"would vanish. ALTER TABLE {keyspace}.{table} WITH default_time_to_live = 0."
            )
