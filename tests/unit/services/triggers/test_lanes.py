"""Lanes: batches, windows, retries, bisection, reported failures, ages, with a clock by hand."""

import pytest

from hashrange.model.triggers import MappingRecord
from hashrange.services.triggers.lanes import (
    PAYLOAD_BYTES_MAX,
    RETRIES_EXHAUSTED,
    TOO_OLD,
    Discard,
    Entry,
    Invoke,
    Lane,
    Outcome,
    Rest,
)

NOW = 1_000_000.0
GOOD = Outcome(None)
BAD = Outcome(error="ValueError: no")
UNREACHABLE = Outcome(error="connection refused", is_invoked=False)


def make_lane(records=(), **settings):
    mapping = MappingRecord(
        uuid="u",
        account="a",
        region="r",
        stream_arn="s",
        function="f",
        starting_position="LATEST",
        **settings,
    )
    lane = Lane(mapping)
    for number in records:
        lane.add(entry(number), NOW)
    return lane


def entry(number, *, time=NOW, size=10):
    return Entry(number, f"seq-{number}", time, b"x" * size)


def numbers(action):
    return [entry.sequence for entry in action.entries]


def failed_at(*identifiers):
    return Outcome({"batchItemFailures": [{"itemIdentifier": name} for name in identifiers]})


def run(lane, poison, *, now=NOW, steps_max=200):
    """Deliver until nothing is left; return what was called and discarded. Time jumps."""
    calls, discards = [], []
    for _ in range(steps_max):
        action = lane.next(now)
        if isinstance(action, Invoke):
            calls.append(numbers(action))
            lane.finish(BAD if poison & set(numbers(action)) else GOOD, now)
        elif isinstance(action, Discard):
            discards.append((numbers(action), action.condition, action.invocations))
            lane.discarded(action)
        elif action.until is None:
            return calls, discards
        else:
            assert action.until > now
            now = action.until
    raise AssertionError("it does not end")


def test_records_go_out_in_batches_in_order():
    lane = make_lane(range(1, 6), batch_size=2)
    assert run(lane, set()) == ([[1, 2], [3, 4], [5]], [])
    assert lane.first_open is None
    assert (lane.open_count, lane.open_bytes) == (0, 0)


def test_nothing_moves_while_a_batch_is_under_way():
    lane = make_lane(range(1, 4), batch_size=2)
    assert numbers(lane.next(NOW)) == [1, 2]
    assert lane.first_open == 1
    lane.finish(GOOD, NOW)
    assert lane.first_open == 3


def test_a_window_waits_for_a_full_batch_but_not_longer():
    lane = make_lane([1, 2], batch_size=3, window_seconds=5)
    rest = lane.next(NOW)
    assert isinstance(rest, Rest)
    assert rest.until == NOW + 5
    assert numbers(lane.next(NOW + 5)) == [1, 2]
    lane.finish(GOOD, NOW + 5)
    for number in (3, 4, 5):
        lane.add(entry(number), NOW + 6)
    assert numbers(lane.next(NOW + 6)) == [3, 4, 5]


def test_a_window_does_not_hold_the_last_records_of_a_shard():
    lane = make_lane([1], window_seconds=300)
    lane.is_closing = True
    assert numbers(lane.next(NOW)) == [1]


def test_an_event_stays_within_its_bytes():
    lane = make_lane()
    for number in (1, 2, 3):
        lane.add(entry(number, size=PAYLOAD_BYTES_MAX // 2), NOW)
    assert run(lane, set())[0] == [[1, 2], [3]]
    lane.add(entry(4, size=PAYLOAD_BYTES_MAX * 2), NOW)
    assert run(lane, set())[0] == [[4]]


def test_a_failed_batch_is_tried_again_after_growing_pauses():
    lane = make_lane([1])
    pauses = []
    now = NOW
    for _ in range(12):
        assert isinstance(lane.next(now), Invoke)
        lane.finish(BAD, now)
        rest = lane.next(now)
        pauses.append(round(rest.until - now, 3))
        now = rest.until
    assert pauses[:4] == [0.2, 0.4, 0.8, 1.6]
    assert pauses[-1] == 60.0
    assert lane.first_open == 1


def test_a_batch_is_given_up_when_its_retries_are_used_up():
    lane = make_lane([1, 2, 3], batch_size=2, retries_max=2)
    calls, discards = run(lane, {1})
    assert calls == [[1, 2]] * 3 + [[3]]
    assert discards == [([1, 2], RETRIES_EXHAUSTED, 3)]


def test_no_retry_at_all():
    assert run(make_lane([1], retries_max=0), {1}) == (
        [[1]],
        [([1], RETRIES_EXHAUSTED, 1)],
    )


def test_bisection_finds_the_poison_and_delivers_the_rest_in_order():
    lane = make_lane(range(1, 9), bisects=True, retries_max=1)
    calls, discards = run(lane, {6})
    assert [records for records, _, _ in discards] == [[6]]
    taken = [number for call in calls if 6 not in call for number in call]
    assert taken == [1, 2, 3, 4, 5, 7, 8]
    # Splitting is free; the last record alone has its one retry.
    assert calls.count([6]) == 2


def test_a_function_that_cannot_be_reached_uses_up_no_retries():
    lane = make_lane([1, 2], retries_max=0, bisects=True)
    now = NOW
    for _ in range(5):
        assert numbers(lane.next(now)) == [1, 2]
        lane.finish(UNREACHABLE, now)
        now = lane.next(now).until
    lane.next(now)
    lane.finish(GOOD, now)
    assert lane.first_open is None


def test_records_before_the_reported_one_are_finished():
    lane = make_lane([1, 2, 3, 4], reports_failures=True, retries_max=2)
    lane.next(NOW)
    lane.finish(failed_at("seq-4", "seq-3"), NOW)
    assert lane.first_open == 3
    now = lane.next(NOW).until
    assert numbers(lane.next(now)) == [3, 4]
    lane.finish(failed_at("seq-3"), now)
    now = lane.next(now).until
    assert numbers(lane.next(now)) == [3, 4]
    lane.finish(failed_at("seq-3"), now)
    discard = lane.next(now)
    assert (numbers(discard), discard.condition) == ([3, 4], RETRIES_EXHAUSTED)
    assert discard.invocations == 3


def test_the_count_of_retries_begins_anew_with_another_record():
    lane = make_lane([1, 2, 3], reports_failures=True, retries_max=1)
    now = NOW
    for name in ("seq-2", "seq-3"):
        assert isinstance(lane.next(now), Invoke)
        lane.finish(failed_at(name), now)
        now = lane.next(now).until
    assert numbers(lane.next(now)) == [3]
    lane.finish(GOOD, now)
    assert lane.first_open is None


def test_bisection_splits_at_the_reported_record():
    lane = make_lane(range(1, 9), reports_failures=True, bisects=True, retries_max=0)
    lane.next(NOW)
    lane.finish(failed_at("seq-7"), NOW)
    assert numbers(lane.next(NOW)) == [7, 8]
    lane.finish(failed_at("seq-7"), NOW)
    assert numbers(lane.next(NOW)) == [7]
    lane.finish(failed_at("seq-7"), NOW)
    assert numbers(lane.next(NOW)) == [7]
    assert isinstance(lane.next(NOW), Discard)


@pytest.mark.parametrize(
    "answer", [None, {}, [], "", {"batchItemFailures": []}, {"batchItemFailures": None}, {"a": 1}]
)
def test_answers_that_mean_complete_success(answer):
    lane = make_lane([1, 2], reports_failures=True)
    lane.next(NOW)
    lane.finish(Outcome(answer), NOW)
    assert lane.first_open is None


@pytest.mark.parametrize(
    "failure",
    [
        {"itemIdentifier": ""},
        {"itemIdentifier": None},
        {"itemIdentifier": "unknown"},
        {"itemIdentifier": 2},
        {"id": "seq-2"},
        "seq-2",
        {},
    ],
)
def test_answers_that_mean_complete_failure(failure):
    lane = make_lane([1, 2], reports_failures=True)
    lane.next(NOW)
    lane.finish(Outcome({"batchItemFailures": [failure]}), NOW)
    assert lane.first_open == 1


def test_reported_failures_count_for_nothing_unless_the_mapping_asks_for_them():
    lane = make_lane([1, 2])
    lane.next(NOW)
    lane.finish(failed_at("seq-1"), NOW)
    assert lane.first_open is None


def test_records_that_are_too_old_are_given_up_before_they_are_delivered():
    lane = make_lane(age_seconds_max=60)
    for number, time in ((1, NOW - 100), (2, NOW - 61), (3, NOW - 60)):
        lane.add(entry(number, time=time), NOW)
    assert run(lane, set()) == ([[3]], [([1, 2], TOO_OLD, 0)])


def test_retries_end_when_the_record_is_too_old():
    lane = make_lane([1], age_seconds_max=60)
    calls, discards = run(lane, {1})
    assert len(calls) > 3
    assert discards == [([1], TOO_OLD, len(calls))]


def test_retries_end_when_the_record_leaves_the_stream():
    lane = make_lane([1])
    _, discards = run(lane, {1}, steps_max=5000)
    assert discards[0][:2] == ([1], TOO_OLD)
