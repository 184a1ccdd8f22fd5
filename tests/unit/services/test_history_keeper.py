"""Histories are kept within their windows."""

from hashrange.services import history_keeper
from tests.harness.protected import ProtectedTable

DAY = 86_400.0


def test_versions_older_than_the_window_are_dropped_and_the_others_stay(monkeypatch) -> None:
    monkeypatch.setattr(history_keeper, "_CHUNK_ROWS", 3)
    table = ProtectedTable()
    table.protect(days=2)
    for day in range(6):
        for number in range(5):
            table.put("abcde"[number], number, v=str(day))
        table.clock.advance(DAY)
    table.scan()
    assert table.history_rows() == 5  # the puts of two days ago are at the edge, hence not needed
    time = table.clock.now() - 1.5 * DAY
    assert {item["v"]["S"] for item in table.scan(at=time)} == {"4"}
    table.clock.advance(30 * DAY)
    table.scan()
    assert table.history_rows() == 0
    assert {item["v"]["S"] for item in table.scan(at=table.clock.now() - DAY)} == {"5"}
    table.close()


def test_a_history_that_is_gone_is_not_looked_at_any_more() -> None:
    table = ProtectedTable()
    table.put("a", 1)
    table.call("DeleteTable", TableName="table")
    table.clock.advance(100 * DAY)
    table.call("ListTables")
    table.close()
