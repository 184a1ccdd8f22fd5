"""The ways to pay for traffic are compared with exact arithmetic."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from hashrange.cli.main import main
from hashrange.toolkit.cost.comparison import advise, compare_tables, pattern_costs, storage_of
from hashrange.toolkit.cost.plans import Scaling, Stored, by_name, compare, scale
from hashrange.toolkit.cost.prices import load_prices
from hashrange.toolkit.cost.recorded import recorded_series
from hashrange.toolkit.cost.series import Series, day_between, declared_series, parse_series
from hashrange.toolkit.errors import DesignError
from tests.harness.presence import there
from tests.toolkit.checker.documents import HERE, shop

PRICES = load_prices()
DAY = 288
NOTHING = Stored(0)


def plans_of(read, write, stored=NOTHING, scaling=None):
    series = [Series(300, tuple(read), tuple(write))]
    return by_name(compare(series, stored, PRICES, scaling or Scaling()))


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["design", *map(str, arguments)])
    return stopped.value.code


def test_on_demand_is_paid_per_million_requests():
    # 100 reads and 20 writes a second are 262.8 and 52.56 million a month.
    plan = plans_of([100] * DAY, [20] * DAY)["on-demand"]
    assert plan.total == pytest.approx(262.8 * 0.125 + 52.56 * 0.625)


def test_provisioned_is_paid_per_unit_and_hour_at_the_peak():
    plan = plans_of([100] * (DAY - 1) + [400], [20] * DAY)["provisioned at the peak"]
    assert plan.total == pytest.approx(400 * 0.00013 * 730 + 20 * 0.00065 * 730)


def test_auto_scaling_provides_the_target_share():
    plan = plans_of([70] * DAY, [7] * DAY)["auto-scaled"]
    assert plan.total == pytest.approx(100 * 0.00013 * 730 + 10 * 0.00065 * 730)
    assert plan.throttled == 0


def test_auto_scaling_is_billed_at_the_highest_capacity_of_an_hour():
    read = [70] * 6 + [140] + [70] * (DAY - 7)
    scaled = scale(Series(300, tuple(read), (1,) * DAY), Scaling())
    assert [hour[0] for hour in scaled.hours[:3]] == [200, 100, 100]


def test_auto_scaling_is_too_slow_for_a_sudden_peak():
    read = [10] * 140 + [5000] * 2 + [10] * 146
    assert plans_of(read, [1] * DAY)["auto-scaled"].throttled > 0.3


def test_bounds_of_auto_scaling_are_kept():
    scaled = scale(Series(300, (1.0, 5000.0) * 144, (0.0,) * DAY), Scaling(50, 300))
    assert {hour[0] for hour in scaled.hours} <= {50, 300}
    assert {hour[1] for hour in scaled.hours} == {50}


@pytest.mark.parametrize(("years", "saved"), [(1, 0.54), (3, 0.77)])
def test_reserved_capacity_saves_what_aws_says(years, saved):
    plans = plans_of([0] * DAY, [700] * DAY)
    name = f"reserved {years} year{'s' if years > 1 else ''}, rest auto-scaled"
    assert 1 - plans[name].total / plans["auto-scaled"].total == pytest.approx(saved, abs=0.005)
    assert "1,000 write units reserved" in plans[name].detail


def test_nothing_is_reserved_for_a_short_peak():
    read = [10] * (DAY - 6) + [3000] * 6
    assert "0 read" in plans_of(read, [1] * DAY)["reserved 1 year, rest auto-scaled"].detail


def test_infrequent_access_pays_off_for_much_data_and_few_requests():
    plans = plans_of([1] * DAY, [1] * DAY, Stored(1000))
    assert plans["on-demand, standard-IA"].total < plans["on-demand"].total
    busy = plans_of([1000] * DAY, [1000] * DAY, Stored(10))
    assert busy["on-demand, standard-IA"].total > busy["on-demand"].total


def test_recovery_is_part_of_the_storage():
    plain, backed = (plans_of([1], [1], Stored(10, gb))["on-demand"].storage for gb in (0, 10))
    assert backed - plain == pytest.approx(2.0)


def test_storage_counts_indexes_and_overhead():
    design = shop({"entities.user": None, "entities.session": None, "patterns": {
        "o": {"operation": "get", "entities": ["order"]}}})  # fmt: skip
    table = design.table("Shop")
    # An index row has four keys of about 40 bytes and two of the five attributes.
    size = 5_000_000 * ((600 + 100) + (160 + 2 * 120 + 100))
    assert storage_of(design, table).gigabytes == pytest.approx(size / 1024**3)


@pytest.mark.parametrize(("average", "peak"), [(10, 10), (10, 15), (10, 200), (1, 280)])
def test_a_declared_day_has_the_declared_average_and_peak(average, peak):
    day = day_between(average, peak)
    assert max(day) == pytest.approx(peak)
    assert sum(day) / len(day) == pytest.approx(average, rel=0.01)


def test_a_peak_shorter_than_a_period_is_spread_over_it():
    assert max(day_between(1, 5000)) == pytest.approx(288)


def test_spiky_traffic_is_left_on_demand():
    read = [1] * (DAY - 3) + [4000] * 3
    plans = list(plans_of(read, [1] * DAY).values())
    chosen, reasons = advise(plans, [Series(300, tuple(read), (1,) * DAY)])
    assert chosen.name == "on-demand"
    assert any("spiky" in reason for reason in reasons)


def test_steady_traffic_is_scaled_and_reservation_is_only_mentioned():
    steady = Series(300, (2000,) * DAY, (500,) * DAY)
    chosen, reasons = advise(compare([steady], NOTHING, PRICES, Scaling()), [steady])
    assert chosen.name == "auto-scaled"
    assert any("reserved 3 years" in reason for reason in reasons)


def test_small_savings_are_not_worth_the_care():
    small = Series(300, (3,) * DAY, (1,) * DAY)
    chosen, reasons = advise(compare([small], NOTHING, PRICES, Scaling()), [small])
    assert chosen.name == "on-demand"
    assert "auto-scaled would save less than 5.00 and needs planning and watching" in reasons


def test_a_table_is_compared_together_with_its_indexes():
    (costs,) = compare_tables(shop(), declared_series(shop()), PRICES)
    assert set(costs.series) == {"Shop", "Shop.GSI1"}
    patterns = sum(sum(there(each)) for each in pattern_costs(shop(), PRICES).values())
    assert by_name(costs.plans)["on-demand"].throughput == pytest.approx(patterns, rel=0.01)


def test_prices_can_be_replaced(tmp_path):
    path = tmp_path / "prices.json"
    document = json.loads((HERE.parents[2] / "src/hashrange/toolkit/cost/prices.json").read_text())
    document["regions"]["eu-nowhere-1"] = document["regions"].pop("us-east-1")
    document["regions"]["eu-nowhere-1"]["STANDARD"]["storage_gb_month"] = 9
    path.write_text(json.dumps(document))
    assert load_prices("eu-nowhere-1", path).standard.storage_gb_month == 9
    with pytest.raises(DesignError, match="no prices for us-east-1"):
        load_prices("us-east-1", path)


class CloudWatch:
    """A stub that answers GetMetricData with given sums."""

    def __init__(self, sums):
        self.sums = sums
        self.queries = []

    def get_paginator(self, name):
        assert name == "get_metric_data"
        return self

    def paginate(self, MetricDataQueries, StartTime, EndTime):  # noqa: N803 - names of boto3
        for query in MetricDataQueries:
            metric = query["MetricStat"]["Metric"]
            self.queries.append(metric)
            names = [each["Value"] for each in metric["Dimensions"]]
            points = self.sums.get((metric["MetricName"], *names), {})
            moments = [StartTime + timedelta(seconds=300 * k) for k in points]
            result = {"Id": query["Id"], "Timestamps": moments, "Values": list(points.values())}
            yield {"MetricDataResults": [result]}


def test_recorded_traffic_is_the_sum_divided_by_the_period():
    sums = {
        ("ConsumedReadCapacityUnits", "Shop"): {0: 3000.0, 2: 600.0},
        ("ConsumedWriteCapacityUnits", "Shop", "GSI1"): {1: 300.0},
    }
    stub = CloudWatch(sums)
    found = recorded_series(shop(), stub, datetime(2026, 5, 17, 12, 3, tzinfo=UTC), days=1)
    assert found["Shop"].read[:4] == (10, 0, 2, 0)
    assert found["Shop.GSI1"].write[:3] == (0, 1, 0)
    assert len(found["Shop"].write) == DAY
    assert len(stub.queries) == 4


@pytest.mark.parametrize(
    "document",
    [{}, {"period_seconds": 60, "stores": {"Shop": {"read": [1], "write": []}}}],
)
def test_broken_recordings_are_refused(document):
    with pytest.raises((KeyError, ValueError)):
        parse_series(document)


def test_the_command_compares_declared_traffic(capsys):
    assert run("cost", HERE / "shop.toml") == 0
    text = capsys.readouterr().out
    assert "advised: " in text
    assert "prices of 2024-11-01" in text


def test_the_command_compares_recorded_traffic(tmp_path, capsys):
    path = tmp_path / "traffic.json"
    stores = {"Shop": {"read": [100] * DAY, "write": [20] * DAY}}
    path.write_text(json.dumps({"period_seconds": 300, "stores": stores}))
    assert run("cost", HERE / "shop.toml", "--traffic", path, "--format", "json") == 0
    plans = json.loads(capsys.readouterr().out)["tables"]["Shop"]["plans"]
    assert plans["on-demand"]["throughput"] == pytest.approx(65.7)


def test_the_command_says_that_a_recording_is_broken(tmp_path, capsys):
    path = tmp_path / "traffic.json"
    path.write_text("{}")
    assert run("cost", HERE / "shop.toml", "--traffic", path) == 2
    assert "no recorded traffic" in capsys.readouterr().err
