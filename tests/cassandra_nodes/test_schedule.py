"""Schedules of faults: the same for the same seed, all kinds in each round, within bounds."""

from itertools import islice

import pytest

from tests.cassandra_nodes.faults import Faults
from tests.cassandra_nodes.schedule import KINDS, NODES, SERVERS, draw


def test_a_seed_gives_the_same_faults_again():
    first, again, other = (list(islice(draw(seed, [*KINDS], 60), 50)) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_every_kind_happens_once_in_each_round():
    events = list(islice(draw(3, [*KINDS], 60), 4 * len(KINDS)))
    for start in range(0, len(events), len(KINDS)):
        assert {event.kind for event in events[start : start + len(KINDS)]} == {*KINDS}


def test_faults_last_no_longer_than_they_may_and_hit_what_there_is():
    for event in islice(draw(5, [*KINDS], 20), 500):
        assert 0 < event.seconds <= 20
        assert 0 <= event.node <= (SERVERS if "server" in event.kind else NODES)
        assert event.node != event.other or event.node == 0
        assert abs(event.jump) <= 120
        assert event.kind in str(event)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_carried_out(kind):
    assert hasattr(Faults, f"_{kind.replace('-', '_')}")
