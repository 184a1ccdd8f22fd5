"""Steps of a shard: decisions in turn on one view, and what is refused."""

from typing import Any

import pytest

from hashrange.engine.cassandra.shard_state import HEAD_KEY, META_STORE, unpack_head
from hashrange.engine.cassandra.steps import STEP_BYTES_MAX, Step, build_step
from hashrange.errors import EngineError, StaleVersionError
from tests.engine.decisions import increment, plain, put

PLACE = ("t", 0)
NUMBERS = {"t": 1, "t.x": 2}.get


def head_at(step, version=0):
    head = unpack_head(None, None)
    head.version = version
    return {(META_STORE, HEAD_KEY): (head.pack(), step)}


def build(*decisions, view=None, absent=()):
    return build_step(PLACE, view or {}, decisions, NUMBERS, absent)


def test_each_decision_sees_what_the_one_before_it_did():
    step = build(increment("t", b"n"), increment("t", b"n"))
    assert [answer.changes.outcome for answer in step.answers if answer.changes] == [1, 2]
    assert step.rows == {(1, b"n"): b"2"}
    assert step.is_changed


def test_a_refused_decision_leaves_the_others_alone():
    stale = plain(puts=[("t", b"a", b"")], fences=[("t", 1)])
    step = build(stale, put("t", b"b", b""), view=head_at(5, version=2))
    assert isinstance(step.answers[0].error, StaleVersionError)
    assert list(step.rows) == [(1, b"b")]
    assert step.expected == 5


def test_unknown_stores_are_missing_until_they_are_known_to_be_absent():
    mistaken = plain(puts=[("t.no", b"k", b"v")])
    assert build(mistaken).missing == {"t.no"}
    assert isinstance(build(mistaken, absent={"t.no"}).answers[0].error, EngineError)
    assert build(plain(creates=["t.new"])).creates == {"t.new"}
    assert not build(plain(deletes=[("t.no", b"k")]), absent={"t.no"}).missing


def test_a_step_ends_when_it_is_full():
    large = bytes(STEP_BYTES_MAX)
    step = build(put("t", b"a", large), put("t", b"b", large), put("t", b"c", b""))
    assert len(step.answers) == 1


def test_a_decision_without_changes_makes_no_step():
    assert not build(plain(outcome="seen", fences=[("t", 3)])).is_changed
    assert build(plain(raises=[("t", 3)])).is_changed
    assert build(plain(announced=True)).is_changed


@pytest.mark.parametrize(
    ("puts", "floor"),
    [([], b"m"), ([("t", b"z", b"")], b"m"), ([("t", b"c", b"")], b"c")],
)
def test_a_floor_is_never_above_what_the_step_puts(puts: Any, floor: bytes):
    step = build(plain(puts=puts))
    step.raise_floor(1, b"m")
    step.finish(b"12345678", lambda name, number: False)
    assert step.books.floors == {1: floor}
    assert step.head.step == 1


def test_tallies_of_dropped_stores_are_forgotten():
    step = build(plain(tallies=[("t", 1, 5), ("t.x", 1, 5)]))
    step.finish(b"12345678", lambda name, number: (name, number) == ("t.x", 2))
    assert step.books.tallies == {"t#1": (1, 5)}


def test_a_step_of_another_shard_is_a_bug():
    step = Step(PLACE, {})
    step.add(plain(puts=[("u", b"k", b"")]), NUMBERS, ())
    assert isinstance(step.answers[0].error, AssertionError)
