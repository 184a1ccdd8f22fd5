"""Totals in memory that forked workers share."""

import os

from hashrange.shared_totals import ENTRIES, SharedTotals

LEVEL = (10.0, 1000.0)


def test_a_worker_sees_what_the_others_took_and_not_its_own():
    shared = SharedTotals(3)
    workers = [shared.of(number) for number in range(3)]
    workers[0].add("a", 2.5, LEVEL)
    workers[1].add("a", 4.0, LEVEL)
    workers[1].add("b", 1.0, LEVEL)
    assert [worker.others("a") for worker in workers] == [4.0, 2.5, 6.5]
    assert [worker.others("b") for worker in workers] == [1.0, 0.0, 1.0]


def test_a_worker_that_is_started_again_goes_on_with_its_totals():
    shared = SharedTotals(2)
    shared.of(0).add("a", 1.0, LEVEL)
    shared.of(0).add("a", 2.0, LEVEL)
    assert shared.of(1).others("a") == 3.0


def test_names_are_kept_apart_until_a_region_is_nearly_full():
    shared = SharedTotals(2)
    writer, reader = shared.of(0), shared.of(1)
    count = ENTRIES // 2
    for number in range(count):
        writer.add(f"table-{number}", number + 1.0, LEVEL)
    assert [reader.others(f"table-{number}") for number in range(count)] == [
        number + 1.0 for number in range(count)
    ]
    assert reader.others("unknown") == 0.0


def test_a_full_region_shares_no_further_names():
    shared = SharedTotals(2)
    writer, reader = shared.of(0), shared.of(1)
    for number in range(ENTRIES + 1000):
        writer.add(f"table-{number}", 1.0, LEVEL)
    seen = sum(reader.others(f"table-{number}") for number in range(ENTRIES + 1000))
    assert 0.9 * ENTRIES < seen <= ENTRIES


def test_processes_share_totals():
    shared = SharedTotals(2)
    child = os.fork()
    if child == 0:
        shared.of(1).add("a", 7.0, LEVEL)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert shared.of(0).others("a") == 7.0


def test_the_newest_level_is_told_to_workers_that_come_later():
    shared = SharedTotals(3)
    assert shared.of(2).level("a") is None
    shared.of(0).add("a", 1.0, (50.0, 1000.0))
    shared.of(1).add("a", 1.0, (-3.0, 1002.0))
    assert shared.of(2).level("a") == (-3.0, 1002.0)
    assert shared.of(1).level("a") == (-3.0, 1002.0)
    assert shared.of(2).level("b") is None
