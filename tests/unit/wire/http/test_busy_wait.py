"""A loop stays awake after an answer until something comes or time is up, seldom in vain."""

import os
from itertools import pairwise

from hashrange.wire.http.busy_wait import Vigil

_LONG = 1e6
_SHORT = 1e-9


def _tries(vigil, loop, answers):
    """Return after which of so many answers the loop was kept awake."""
    tried = []
    for answer in range(answers):
        vigil.begin(gives_way=False)
        if loop.soon:
            tried.append(answer)
        while loop.turn():
            pass
    return tried


def test_the_loop_is_awake_until_something_comes(loop):
    vigil = Vigil(loop, _LONG)
    vigil.begin(gives_way=False)
    assert all(loop.turn() for _ in range(100))
    vigil.end()
    assert not loop.turn()


def test_a_second_answer_keeps_awake_without_looking_twice(loop):
    vigil = Vigil(loop, _LONG)
    vigil.begin(gives_way=False)
    vigil.end()
    vigil.begin(gives_way=False)
    assert len(loop.soon) == 1
    loop.turn()
    assert len(loop.soon) == 1


def test_waiting_in_vain_is_tried_less_and_less_often(loop):
    vigil = Vigil(loop, _SHORT)
    tried = _tries(vigil, loop, 300)
    rests = [later - earlier - 1 for earlier, later in pairwise(tried)]
    assert rests == [0, 1, 3, 7, 15, 31, 63, 63, 63]


def test_a_wait_that_paid_makes_up_for_those_in_vain(loop):
    vigil = Vigil(loop, _SHORT)
    assert _tries(vigil, loop, 13) == [0, 1, 3, 7]
    for _ in range(3):
        vigil.begin(gives_way=False)
    assert loop.soon
    vigil.end()
    loop.turn()
    assert _tries(vigil, loop, 4) == [0, 1, 3]


def test_without_time_to_wait_nothing_is_looked_for(loop):
    Vigil(loop, 0).begin(gives_way=False)
    assert loop.soon == []


def test_others_have_the_processor_first_where_there_are_any(loop, monkeypatch):
    yields = []
    monkeypatch.setattr(os, "sched_yield", lambda: yields.append(1))
    vigil = Vigil(loop, _LONG)
    vigil.begin(gives_way=False)
    loop.turn()
    assert not yields
    vigil.begin(gives_way=True)
    loop.turn()
    loop.turn()
    assert len(yields) == 2
