"""Nodes that would lose acknowledged writes are refused, with a text that says what to change."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from cassandra.cluster import NoHostAvailable

from hashrange.engine.cassandra.start_checks import Demands, check_nodes, check_settings
from hashrange.errors import EngineError

SAFE = {"commitlog_sync": "group", "paxos_variant": "v2", "max_mutation_size": "32MiB"}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"commitlog_sync": "periodic"}, "10.0.0.1 has commitlog_sync: periodic"),
        ({"paxos_variant": "v1"}, "Set paxos_variant: v2"),
        ({"max_mutation_size": "8192KiB"}, "max_mutation_size 8192KiB, too small"),
        ({"max_mutation_size": "1MiB"}, "commitlog_segment_size"),
    ],
)
def test_unsafe_settings_are_refused(settings, complaint):
    with pytest.raises(EngineError, match=complaint):
        check_settings("10.0.0.1", SAFE | settings, Demands())


@pytest.mark.parametrize(
    "settings", [{}, {"commitlog_sync": "batch"}, {"max_mutation_size": "1GiB"}]
)
def test_safe_settings_are_accepted(settings):
    check_settings("10.0.0.1", SAFE | settings, Demands())


def test_a_periodic_commit_log_can_be_allowed():
    demands = Demands(allow_periodic_commit_log=True)
    check_settings("10.0.0.1", SAFE | {"commitlog_sync": "periodic"}, demands)


class Host:
    """A node as the driver knows it."""

    def __init__(self, number: int, datacenter: str = "dc1", *, is_up: bool = True) -> None:
        self.address = f"10.0.0.{number}"
        self.datacenter = datacenter
        self.is_up = is_up


class Session:
    """A session on a cluster that answers what the checks ask for."""

    def __init__(self, hosts: list[Host]) -> None:
        self.cluster = SimpleNamespace(metadata=SimpleNamespace(all_hosts=lambda: hosts))
        self.settings = dict(SAFE)
        self.clock_seconds = 0.0
        self.replication: dict[str, str] | None = {"class": "x", "dc1": "3"}
        self.tables: list[tuple[str, str, int]] = [("rows", "NONE", 0), ("spaces", "NONE", 0)]
        self.silent: set[str] = set()

    def execute(self, statement: str, values: object = None, host: Host | None = None) -> Any:
        if host is not None and host.address in self.silent:
            raise NoHostAvailable("it is down", {})
        if "data_center" in statement:
            return [("dc1",)]
        if "system_views.settings" in statement:
            return list(self.settings.items())
        if "toUnixTimestamp" in statement:
            return [((time.time() + self.clock_seconds) * 1000,)]
        if "system_schema.keyspaces" in statement:
            return [] if self.replication is None else [(self.replication,)]
        assert "system_schema.tables" in statement
        return self.tables


@pytest.fixture
def session() -> Session:
    return Session([Host(1), Host(2), Host(3)])


def test_a_safe_cluster_is_accepted(session):
    check_nodes(session, "k", Demands())


def test_a_keyspace_that_is_not_there_yet_is_accepted(session):
    session.replication = None
    session.tables = []
    check_nodes(session, "k", Demands())


@pytest.mark.parametrize("seconds", [-60, 60])
def test_a_clock_far_off_is_refused(session, seconds):
    session.clock_seconds = seconds
    with pytest.raises(EngineError, match=r"clock of node 10\.0\.0\.1 .* 60 s apart"):
        check_nodes(session, "k", Demands())


def test_fewer_nodes_than_replicas_are_refused():
    session = Session([Host(1), Host(2), Host(3, "dc2")])
    with pytest.raises(EngineError, match="dc1 has 2 nodes, too few for 3 replicas"):
        check_nodes(session, "k", Demands())


@pytest.mark.parametrize(("found", "told"), [("2", "2"), (None, "no")])
def test_a_keyspace_with_other_replicas_is_refused(session, found, told):
    session.replication = {"class": "x"} | ({"dc1": found} if found else {})
    with pytest.raises(EngineError, match=f"keeps {told} replicas in data centre dc1"):
        check_nodes(session, "k", Demands())


@pytest.mark.parametrize("table", ["rows", "spaces"])
def test_tables_that_repair_reads_are_refused(session, table):
    session.tables = [(table, "BLOCKING", 0)]
    with pytest.raises(EngineError, match=f"k.{table} has read_repair = 'BLOCKING'"):
        check_nodes(session, "k", Demands())


def test_tables_whose_rows_vanish_are_refused(session):
    session.tables = [("leases", "BLOCKING", 60)]
    with pytest.raises(EngineError, match=r"k\.leases has default_time_to_live = 60"):
        check_nodes(session, "k", Demands())


def test_tables_of_others_are_left_alone(session):
    session.tables = [("theirs", "BLOCKING", 60)]
    check_nodes(session, "k", Demands())


def test_settings_of_every_node_are_looked_at(session):
    session.settings["commitlog_sync"] = "periodic"
    session.silent = {"10.0.0.1", "10.0.0.2"}
    with pytest.raises(EngineError, match=r"Node 10\.0\.0\.3 has commitlog_sync: periodic"):
        check_nodes(session, "k", Demands())


def test_a_node_that_goes_down_meanwhile_is_passed_over(session):
    session.silent = {"10.0.0.2"}
    check_nodes(session, "k", Demands())


def test_a_new_keyspace_is_replicated_in_the_data_centre_of_the_session(session):
    replication = Demands(replication=5).replication_of(session)
    assert replication == "{'class': 'NetworkTopologyStrategy', 'dc1': 5}"
