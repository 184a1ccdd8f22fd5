"""Histories of lists that no serial order explains, written by hand."""

from tests.consistency.cycles import check_lists
from tests.consistency.history import NEVER, OK, REFUSED, UNKNOWN, Operation


def wrote(called, returned, outcome=OK, **values):
    ending = returned if outcome == OK else NEVER
    return Operation(0, "append", values, {}, called, ending, outcome)


def read(called, returned, **values):
    return Operation(1, "read", {}, values, called, returned, OK)


def test_a_serial_history_is_fine():
    assert (
        check_lists([wrote(0, 1, x=1), read(2, 3, x=[1]), wrote(4, 5, x=2), read(6, 7, x=[1, 2])])
        == []
    )


def test_concurrent_operations_may_have_either_order():
    assert check_lists([wrote(0, 9, x=1), read(1, 2, x=[]), read(3, 4, x=[1])]) == []


def test_a_read_that_misses_an_acknowledged_append_is_found():
    assert check_lists([wrote(0, 1, x=1), read(2, 3, x=[])]) != []


def test_half_a_transaction_is_found():
    history = [wrote(0, 9, x=1, y=2), read(1, 8, x=[1], y=[]), read(10, 11, x=[1], y=[2])]
    assert "rw y" in check_lists(history)[0]


def test_two_reads_that_see_two_appends_in_different_orders_are_found():
    history = [
        wrote(0, 9, x=1),
        wrote(0, 9, y=2),
        read(1, 8, x=[1], y=[]),
        read(1, 8, x=[], y=[2]),
        read(10, 11, x=[1], y=[2]),
    ]
    assert check_lists(history) != []


def test_a_refused_append_must_not_be_seen():
    assert "refused" in check_lists([wrote(0, 1, REFUSED, x=1), read(2, 3, x=[1])])[0]


def test_an_append_nobody_knows_of_may_be_seen_late_or_never():
    assert check_lists([wrote(0, 1, UNKNOWN, x=1), read(2, 3, x=[]), read(4, 5, x=[1])]) == []
    assert check_lists([wrote(0, 1, UNKNOWN, x=1), read(2, 3, x=[])]) == []


def test_a_value_twice_and_lists_that_disagree_are_found():
    assert "twice" in check_lists([wrote(0, 1, x=1), read(2, 3, x=[1, 1])])[0]
    history = [wrote(0, 9, x=1), wrote(0, 9, x=2), read(1, 2, x=[1]), read(3, 4, x=[2, 1])]
    assert "in the order" in check_lists(history)[0]


def test_a_value_out_of_nothing_is_found():
    assert "nobody appended" in check_lists([read(0, 1, x=[5])])[0]
