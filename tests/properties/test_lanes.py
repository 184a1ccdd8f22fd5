"""Lanes under any settings and any answers: nothing lost, nothing out of order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.model.triggers import MappingRecord
from hashrange.services.triggers.lanes import Discard, Entry, Invoke, Lane, Outcome

NOW = 1_000_000.0
STEPS_MAX = 3000


@st.composite
def mappings(draw):
    return MappingRecord(
        uuid="u",
        account="a",
        region="r",
        stream_arn="s",
        function="f",
        starting_position="LATEST",
        batch_size=draw(st.integers(1, 6)),
        window_seconds=draw(st.sampled_from([0, 5])),
        retries_max=draw(st.sampled_from([-1, 0, 1, 3])),
        age_seconds_max=draw(st.sampled_from([-1, 60, 600])),
        bisects=draw(st.booleans()),
        reports_failures=draw(st.booleans()),
    )


class Function:
    """A function that answers as chance has it, and in the end takes everything."""

    def __init__(self, answers):
        self._answers = list(answers)
        self.taken = []

    def call(self, mapping, entries):
        answer = self._answers.pop() if self._answers else "good"
        if answer == "bad":
            return Outcome(error="bad")
        if answer == "unreachable":
            return Outcome(error="nobody", is_invoked=False)
        if isinstance(answer, int) and mapping.reports_failures:
            place = answer % len(entries)
            self.taken += [entry.sequence for entry in entries[:place]]
            return Outcome({"batchItemFailures": [{"itemIdentifier": entries[place].identifier}]})
        self.taken += [entry.sequence for entry in entries]
        return Outcome()


ANSWERS = st.lists(
    st.one_of(st.sampled_from(["good", "bad", "unreachable"]), st.integers(0, 5)), max_size=40
)


@settings(deadline=None)
@given(mapping=mappings(), answers=ANSWERS, arrivals=st.lists(st.integers(0, 90), max_size=25))
def test_each_record_is_taken_or_given_up_once_and_in_order(mapping, answers, arrivals):
    lane, function = Lane(mapping), Function(answers)
    now, floor = NOW, 0
    given_up: list[int] = []
    waiting = list(enumerate(arrivals, 1))
    for _ in range(STEPS_MAX):
        if waiting and now >= NOW + waiting[0][1]:
            number, _ = waiting.pop(0)
            lane.add(Entry(number, f"n{number}", now, b"x" * number), now)
            continue
        first = lane.first_open
        if first is not None:
            # What was finished stays so: a restart may go on from here.
            assert first >= floor
            assert {*function.taken, *given_up} >= set(range(1, first))
            floor = first
        action = lane.next(now)
        if isinstance(action, Invoke):
            assert 1 <= len(action.entries) <= mapping.batch_size
            assert action.entries[0].sequence == lane.first_open
            lane.finish(function.call(mapping, action.entries), now)
        elif isinstance(action, Discard):
            given_up += [entry.sequence for entry in action.entries]
            lane.discarded(action)
        elif action.until is not None:
            assert action.until > now
            now = action.until
        elif waiting:
            now += 1
        else:
            break
    else:
        raise AssertionError("it does not end")
    assert (lane.open_count, lane.open_bytes) == (0, 0)
    assert given_up == sorted(given_up)
    assert function.taken == sorted(function.taken)
    assert sorted(function.taken + given_up) == list(range(1, len(arrivals) + 1))
