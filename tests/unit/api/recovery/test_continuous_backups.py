"""UpdateContinuousBackups and DescribeContinuousBackups."""

from typing import Any

from hashrange.storage.catalog import REALISTIC
from tests.harness.protected import KEYS, TABLE, ProtectedTable

DAY = 86_400.0


def described(table: ProtectedTable) -> dict[str, Any]:
    answer = table.call("DescribeContinuousBackups", TableName=TABLE)
    description: dict[str, Any] = answer["ContinuousBackupsDescription"]
    assert description["ContinuousBackupsStatus"] == "ENABLED"
    recovery: dict[str, Any] = description["PointInTimeRecoveryDescription"]
    return recovery


def test_recovery_is_off_until_it_is_enabled() -> None:
    table = ProtectedTable(is_protected=False)
    assert described(table) == {"PointInTimeRecoveryStatus": "DISABLED"}
    table.put("a", 1)
    assert table.history_rows() == 0
    table.close()


def test_the_window_begins_when_recovery_is_enabled_and_moves_on(table: ProtectedTable) -> None:
    begun = table.clock.now()
    table.clock.advance(3 * DAY)
    assert described(table) == {
        "PointInTimeRecoveryStatus": "ENABLED",
        "RecoveryPeriodInDays": 35,
        "EarliestRestorableDateTime": begun,
        "LatestRestorableDateTime": begun + 3 * DAY,
    }
    table.protect(days=2)
    assert described(table)["EarliestRestorableDateTime"] == begun + DAY
    table.protect()
    assert described(table)["RecoveryPeriodInDays"] == 35
    table.clock.advance(100 * DAY)
    assert described(table)["EarliestRestorableDateTime"] == begun + 68 * DAY


def test_a_realistic_server_is_five_minutes_behind() -> None:
    table = ProtectedTable(delays=REALISTIC)
    begun = table.clock.now()
    assert described(table)["LatestRestorableDateTime"] == begun
    table.clock.advance(1000)
    assert described(table)["LatestRestorableDateTime"] == begun + 700
    table.close()


def test_disabling_drops_the_history_and_enabling_begins_a_new_window(
    table: ProtectedTable,
) -> None:
    table.put("a", 1)
    assert table.history_rows() == 1
    recovery = table.protect(is_enabled=False)["PointInTimeRecoveryDescription"]
    assert recovery == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert table.history_rows() == 0
    table.put("a", 2)
    table.clock.advance(60)
    table.protect()
    assert described(table)["EarliestRestorableDateTime"] == table.clock.now()
    assert table.history_rows() == 0
    table.protect(is_enabled=False)
    table.protect(is_enabled=False)


def test_a_write_that_changes_nothing_adds_nothing(table: ProtectedTable) -> None:
    table.put("a", 1, v="same")
    table.put("a", 1, v="same")
    table.delete("a", 2)
    assert table.history_rows() == 1


def test_wrong_requests_are_refused(table: ProtectedTable) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("DescribeContinuousBackups", {}),
        (
            "UpdateContinuousBackups",
            {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}},
        ),
        (
            "UpdateContinuousBackups",
            {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}},
        ),
    ]
    for operation, more in wrong:
        assert table.refusal(operation, TableName="absent", **more) == (
            "TableNotFoundException: Table not found: absent"
        )
    refusal = table.refusal(
        "UpdateContinuousBackups",
        TableName=TABLE,
        PointInTimeRecoverySpecification={
            "PointInTimeRecoveryEnabled": False,
            "RecoveryPeriodInDays": 3,
        },
    )
    assert refusal.startswith("ValidationException: One or more parameter values were invalid")
    for days in (0, 36):
        refusal = table.refusal(
            "UpdateContinuousBackups",
            TableName=TABLE,
            PointInTimeRecoverySpecification={
                "PointInTimeRecoveryEnabled": True,
                "RecoveryPeriodInDays": days,
            },
        )
        assert refusal.startswith("ValidationException: 1 validation error detected")


def test_a_table_that_is_being_created_has_no_backups_yet() -> None:
    table = ProtectedTable(delays=REALISTIC)
    table.call("CreateTable", **KEYS, TableName="young")
    assert table.refusal("DescribeContinuousBackups", TableName="young") == (
        "TableNotFoundException: Table not found: young"
    )
    table.close()
