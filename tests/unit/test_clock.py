"""The virtual clock stands still, is moved by hand, or follows the time of the process."""

import time

from hashrange.clock import VirtualClock


def test_it_stands_still_until_it_is_moved():
    moves = []
    clock = VirtualClock(100.0, lambda: moves.append(1))
    assert clock.now() == 100.0
    clock.advance(5)
    clock.set(50.0)
    assert clock.now() == 50.0
    assert len(moves) == 2


def test_it_follows_the_time_of_the_process_until_it_is_moved(monkeypatch):
    clock = VirtualClock(100.0)
    clock.follow()
    monkeypatch.setattr(time, "time", lambda: 7000.0)
    assert clock.now() == 7000.0
    clock.advance(10)
    monkeypatch.setattr(time, "time", lambda: 9000.0)
    assert clock.now() == 7010.0
