"""The time-to-live setting: stored, described, and changed one step at a time."""

from hashrange.storage.catalog import Delays
from tests.harness.tables import Tables


def specification(name: str, *, enabled: bool) -> dict[str, object]:
    return {"AttributeName": name, "Enabled": enabled}


def status(tables: Tables) -> dict[str, object]:
    return tables.call("DescribeTimeToLive", TableName="table")["TimeToLiveDescription"]


def test_it_is_disabled_at_first_enabled_and_disabled_again() -> None:
    tables = Tables()
    tables.create()
    assert status(tables) == {"TimeToLiveStatus": "DISABLED"}
    on = specification("expires", enabled=True)
    answer = tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=on)
    assert answer == {"TimeToLiveSpecification": on}
    assert status(tables) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    off = specification("expires", enabled=False)
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=off)
    assert status(tables) == {"TimeToLiveStatus": "DISABLED"}


def test_a_change_that_changes_nothing_is_refused() -> None:
    tables = Tables()
    tables.create()

    def refusal(name: str, *, enabled: bool) -> str:
        asked = specification(name, enabled=enabled)
        return tables.refusal("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=asked)

    assert refusal("x", enabled=False) == "ValidationException: TimeToLive is already disabled"
    on = specification("x", enabled=True)
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=on)
    assert refusal("x", enabled=True) == "ValidationException: TimeToLive is already enabled"
    assert refusal("y", enabled=True) == (
        "ValidationException: TimeToLive is active on a different AttributeName: "
        "current AttributeName is x"
    )


def test_a_change_takes_effect_after_the_delay_and_cannot_be_hurried() -> None:
    tables = Tables(Delays(time_to_live_seconds=60))
    tables.create()
    on = specification("x", enabled=True)
    off = specification("x", enabled=False)
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=on)
    assert status(tables) == {"TimeToLiveStatus": "ENABLING", "AttributeName": "x"}
    assert tables.refusal("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=off) == (
        "ValidationException: Time to live has been modified multiple times within a fixed interval"
    )
    tables.clock.advance(60)
    tables.call("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=off)
    assert status(tables) == {"TimeToLiveStatus": "DISABLING", "AttributeName": "x"}


def test_an_attribute_name_is_needed() -> None:
    tables = Tables()
    tables.create()
    empty = specification("", enabled=True)
    assert tables.refusal("UpdateTimeToLive", TableName="table", TimeToLiveSpecification=empty) == (
        "ValidationException: 1 validation error detected: Value '' at "
        "'timeToLiveSpecification.attributeName' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    )
