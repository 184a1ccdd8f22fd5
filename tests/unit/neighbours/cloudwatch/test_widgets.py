"""The JSON of metric widgets."""

import json

import pytest

from hashrange.neighbours.cloudwatch.widgets import lines_of, read_widget, span_of, zone_of
from hashrange.neighbours.service import ServiceError

NOW = 1_800_000_030.0
HOUR = 3600


def widget(metrics=(("Shop", "Sales"),), **more):
    return read_widget(json.dumps({"metrics": metrics, **more}))


def metrics_of(*rows, **more):
    lines = lines_of(widget(rows, **more), "us-east-1", (0, HOUR))
    return [line.query["MetricStat"]["Metric"] for line in lines]


def pairs(metric):
    return [(pair["Name"], pair["Value"]) for pair in metric["Dimensions"]]


def test_a_dot_stands_for_the_name_above_and_three_for_all_that_are_missing():
    first, second, third = metrics_of(
        ["Shop", "Sales", "Store", "a"], [".", "Returns", ".", "b"], ["...", "c"]
    )
    assert (first["MetricName"], pairs(first)) == ("Sales", [("Store", "a")])
    assert (second["Namespace"], second["MetricName"]) == ("Shop", "Returns")
    assert pairs(second) == [("Store", "b")]
    assert (third["MetricName"], pairs(third)) == ("Returns", [("Store", "c")])


def test_an_expression_keeps_the_names_for_the_metric_after_it():
    rows = [["Shop", "Sales"], [{"expression": "1", "id": "e"}], [".", "Returns"]]
    lines = lines_of(widget(rows), "us-east-1", (0, HOUR))
    assert lines[1].query == {"Expression": "1", "Id": "e"}
    assert lines[2].query["MetricStat"]["Metric"]["Namespace"] == "Shop"


def test_a_metric_has_its_own_period_and_statistic_or_those_of_the_widget():
    rows = [["Shop", "Sales"], ["Shop", "Sales", {"period": 60, "stat": "p99"}]]
    lines = lines_of(widget(rows, period=600, stat="Sum"), "us-east-1", (0, HOUR))
    found = [
        (line.query["MetricStat"]["Period"], line.query["MetricStat"]["Stat"]) for line in lines
    ]
    assert found == [(600, "Sum"), (60, "p99")]


def test_the_period_can_be_the_time_that_is_shown():
    (line,) = lines_of(widget(setPeriodToTimeRange=True), "us-east-1", (0, HOUR + 1))
    assert line.query["MetricStat"]["Period"] == HOUR + 60


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("-PT3H", "PT0H", (NOW - 3 * HOUR - 30, NOW - 30)),
        ("-P1DT30M", "-PT1H", (NOW - 24 * HOUR - 1830, NOW - HOUR)),
        ("-P2W", "-P1W", (NOW - 14 * 24 * HOUR - 30, NOW - 7 * 24 * HOUR)),
        ("2027-01-15T07:00:00Z", "2027-01-15T08:00:00+01:00", None),
        ("2027-01-15T06:00:00.000Z", "2027-01-15T07:00:00", (NOW - 30 - 2 * HOUR, NOW - 30 - HOUR)),
    ],
)
def test_times_are_absolute_or_relative(start, end, expected):
    asked = widget(start=start, end=end)
    if expected is None:
        with pytest.raises(ServiceError, match="start is not before end"):
            span_of(asked, NOW)
    else:
        assert span_of(asked, NOW) == expected


def test_the_minute_under_way_is_shown_on_request():
    assert span_of(widget(), NOW)[1] == NOW - 30
    assert span_of(widget(liveData=True), NOW)[1] == NOW


def test_a_time_zone_is_an_offset():
    assert zone_of(widget(timezone="-0130")).utcoffset(None).total_seconds() == -5400
    with pytest.raises(ServiceError, match="offset"):
        zone_of(widget(timezone="CET"))


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"metrics": []}',
        '{"metrics": [["Shop", "Sales"]], "titel": "x"}',
        '{"metrics": [["Shop", "Sales"]], "width": 2001}',
        '{"metrics": [["Shop", "Sales"]], "view": "gauge"}',
        '{"metrics": [["Shop", "Sales"]], "annotations": {"alarms": ["a"]}}',
        '{"metrics": [["Shop", "Sales"]], "annotations": {"horizontal": [{"label": "x"}]}}',
        '{"metrics": [["Shop", "Sales"]], "title": "' + "x" * 100_000 + '"}',
    ],
)
def test_what_is_no_widget_is_refused(text):
    with pytest.raises(ServiceError, match="Invalid metric widget"):
        read_widget(text)


@pytest.mark.parametrize(
    "row",
    [
        ["Shop"],
        ["Shop", "Sales", "Store"],
        [".", "Sales"],
        ["..."],
        ["Shop", 5],
        ["Shop", "Sales", {"colour": "#fff"}],
        ["Shop", "Sales", {"color": "red"}],
        ["Shop", "Sales", {"expression": "1"}],
        ["Shop", "Sales", {"region": "eu-west-1"}],
    ],
)
def test_what_is_no_metric_is_refused(row):
    with pytest.raises(ServiceError, match="Invalid metric widget"):
        lines_of(widget([row]), "us-east-1", (0, HOUR))
