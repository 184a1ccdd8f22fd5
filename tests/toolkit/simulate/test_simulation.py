"""A design under a load shape shows hot partitions before they cost money."""

import json
from typing import Any

import pytest
import yaml

from hashrange.cli.main import main
from hashrange.toolkit.design.documents import parse_design
from hashrange.toolkit.design.expectations import Rate
from hashrange.toolkit.simulate.load import place_of
from hashrange.toolkit.simulate.output import text_of
from hashrange.toolkit.simulate.run import Scenario, simulate
from hashrange.toolkit.simulate.shapes import SHAPES, calls_per_second
from tests.toolkit.checker.documents import HERE, shop

VOTES = yaml.safe_load((HERE / "standards" / "red-line-2-hot-partitions.yaml").read_text())
WARM = Scenario("peak", minutes=8, partitions=32)


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["design", *map(str, arguments)])
    return stopped.value.code


def writes(change):
    """Return what happens to a design of one pattern that writes 3,000 units a second."""
    document = {
        "name": "events",
        "tables": {"Events": {"partition_key": "PK", "sort_key": "SK"}},
        "entities": {
            "event": {
                "keys": {"PK": "SOURCE#{source}", "SK": "{at}"},
                "attributes": {"source": {"distinct": 1}, "at": {"format": "timestamp"}, "id": "S"},
                "volume": {"items": 1000, "item_bytes": 500},
            }
        },
        "patterns": {
            "record": {"operation": "create", "entities": ["event"], "rate": {"average": 3000}}
        },
    }
    for path, value in change.items():
        *parents, last = path.split(".")
        part: Any = document
        for name in parents:
            part = part[name]
        part[last] = value
    design = parse_design(document)
    return simulate(design, Scenario("steady", minutes=25, partitions=8))["Events"]


def test_a_sharded_key_serves_what_a_single_key_throttles():
    bad = simulate(parse_design(VOTES["bad"]), WARM)["Votes"]
    good = simulate(parse_design(VOTES["good"]), WARM)["Votes"]
    assert bad.throttled_share > 0.7
    # Hashes of 32 keys do not spread evenly over 32 partitions, but the load is served mostly.
    assert good.throttled_share < bad.throttled_share / 2
    assert bad.throttled_keys.most_common(1)[0][0] == "ELECTION#election-0"


def test_splitting_does_not_help_a_collection_that_grows_at_its_end():
    assert writes({}).throttled_share > 0.6


def test_splitting_helps_a_collection_that_is_written_everywhere():
    found = writes({"entities.event.keys": {"PK": "SOURCE#{source}", "SK": "{id}"}})
    assert found.splits
    assert found.throttled_share < 0.4


def test_a_local_index_keeps_a_collection_in_one_partition():
    local = {"L": {"kind": "local", "partition_key": "PK", "sort_key": "id", "reason": "a test"}}
    keys = {"PK": "SOURCE#{source}", "SK": "{id}"}
    found = writes({"entities.event.keys": keys, "tables.Events.indexes": local})
    assert found.splits == []


def test_a_time_bucket_alone_sends_all_writes_to_one_key():
    found = writes({"entities.event.keys": {"PK": "{at:%Y-%m-%d}", "SK": "{at}"}})
    assert len(found.keys) == 1
    assert found.throttled_share > 0.6


def test_the_shop_is_served():
    runs = simulate(shop(), Scenario("spike", minutes=6))
    assert set(runs) == {"Shop", "Shop.GSI1"}
    assert all(run.throttled == 0 for run in runs.values())


def test_provisioned_capacity_throttles_beyond_its_burst():
    capacity = {"tables.Shop.capacity": {"mode": "provisioned", "read_units": 20, "write_units": 9}}
    store = simulate(shop(capacity), Scenario("peak", minutes=10))["Shop"]
    assert store.throttled_share > 0.5
    assert sum(minute.by_partition for minute in store.minutes) == 0


def test_the_same_seed_gives_the_same_run():
    one, two = (simulate(shop(), Scenario("peak", minutes=1))["Shop"] for _ in range(2))
    assert one.keys == two.keys


@pytest.mark.parametrize(
    ("shape", "rates"),
    [
        ("steady", [10, 10, 10]),
        ("peak", [40, 40, 40]),
        ("ramp", [10, 25, 40]),
        ("spike", [10, 40, 10]),
        ("day", [10, 40, 10]),
    ],
)
def test_a_shape_moves_between_average_and_peak(shape, rates):
    found = [calls_per_second(Rate(10, 40), SHAPES[shape], at, 1) for at in (0, 0.5, 1)]
    assert found == pytest.approx(rates)


def test_keys_spread_over_the_hash_range():
    places = [place_of(f"USER#{number}") for number in range(1000)]
    assert 400 < sum(place < 0.5 for place in places) < 600


def test_text_names_the_hot_key_and_its_pattern():
    scenario = Scenario("peak", minutes=2)
    design = parse_design(VOTES["bad"])
    text = text_of(design.name, simulate(design, scenario), scenario)
    assert "key 'ELECTION#election-0': 89% of the traffic" in text
    assert "pattern cast" in text


def test_the_command_fails_when_requests_are_throttled(tmp_path, capsys):
    path = tmp_path / "votes.json"
    path.write_text(json.dumps(VOTES["bad"]))
    assert run("simulate", path, "--minutes", 2, "--shape", "peak") == 1
    assert "throttled" in capsys.readouterr().out
    assert run("simulate", path, "--minutes", 2, "--shape", "peak", "--allow", 1) == 0


def test_the_command_writes_json(capsys):
    assert run("simulate", HERE / "shop.toml", "--minutes", 2, "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["stores"]["Shop"]["partitions"] == {"before": 4, "after": 4}
    assert len(document["stores"]["Shop"]["minutes"]) == 2
