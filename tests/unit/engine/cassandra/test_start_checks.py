"""Nodes that would lose acknowledged writes are refused, with a text that says what to change."""

import pytest

from hashrange.engine.cassandra.start_checks import Demands, check_settings
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
