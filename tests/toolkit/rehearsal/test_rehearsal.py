"""Every pattern of a design runs on generated data, is measured and held to its budget."""

import json
import subprocess
import sys

import pytest
import yaml

from examples.designs.chat import Chat
from examples.designs.game_sessions import Games
from examples.designs.iot import Sensors
from examples.designs.order_entry import OrderEntry
from examples.designs.saas import Service
from examples.designs.shop import Shop
from examples.designs.social import Social
from hashrange.cli.main import main
from hashrange.toolkit.cost.consumption import estimate
from hashrange.toolkit.design.documents import design_to_toml
from hashrange.toolkit.design.provisioning import create_table_document
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.item_sizes import item_bytes
from hashrange.toolkit.rehearsal.output import json_of, text_of
from hashrange.toolkit.rehearsal.population import Population
from hashrange.toolkit.rehearsal.rehearse import Settings, rehearse
from tests.toolkit.checker.documents import HERE, shop

FEW = Settings(items_max=60, calls=3)
EXAMPLES = [Chat, Games, Sensors, OrderEntry, Service, Shop, Social]


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["design", *map(str, arguments)])
    return stopped.value.code


def rehearsed(dynamodb_client, change=None, settings=FEW):
    rehearsal = rehearse(shop(change), dynamodb_client, settings)
    return {result.pattern.name: result for result in rehearsal.results}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.design.name)
def test_all_patterns_of_the_examples_run(example, rehearse_design):
    rehearsal = rehearse_design(example.design, FEW)
    assert {r.pattern.name: r.problems for r in rehearsal.results if r.problems} == {}
    assert all(result.readings for result in rehearsal.results)


def test_what_a_call_takes_is_measured(dynamodb_client):
    results = rehearsed(dynamodb_client)
    user = results["user"]
    assert (user.average("requests"), user.average("returned"), user.most("read_units")) == (
        1, 1, 0.5,
    )  # fmt: skip
    assert results["user_orders"].most("examined") == 20
    assert results["orders_by_status"].most("requests") == 8
    # One unit for the item, one for its row in the index.
    assert results["place_order"].average("write_units") == 2


@pytest.mark.parametrize(
    "change",
    [
        {"patterns.user.budget": {"read_units": 0.4}},
        {"patterns.user_orders.budget": {"items_examined": 19}},
        {"patterns.orders_by_status.budget": {"requests": 7}},
        {"patterns.place_order.budget": {"write_units": 1}},
        {"patterns.user.budget": {"monthly_cost": 1}},
        {"patterns.user.budget": {"latency_ms": 0.000001}},
    ],
    ids=lambda change: next(iter(next(iter(change.values())))),
)
def test_an_exceeded_budget_fails(dynamodb_client, change):
    rehearsal = rehearse(shop(change), dynamodb_client, FEW)
    (failed,) = [result for result in rehearsal.results if result.problems]
    assert f"patterns.{failed.pattern.name}.budget" in change
    assert not rehearsal.holds
    assert f"FAILED {failed.pattern.name}" in text_of(rehearsal)


def test_a_pattern_whose_condition_never_holds_fails(dynamodb_client):
    change = {
        "patterns.discount": {
            "operation": "update", "entities": ["order"], "update": "SET total = :total",
            "condition": "total = :never",
        }
    }  # fmt: skip
    never = {"discount": {"never": -1}}
    results = rehearsed(dynamodb_client, change, Settings(60, 3, never))
    assert results["discount"].problems == ("the condition of no call held: give arguments",)


def test_items_that_the_service_refuses_are_a_contradiction(dynamodb_client):
    wrong = {"tables.Shop.indexes.ByTotal": {"partition_key": "total", "reason": "a test"}}
    with pytest.raises(DesignError, match="items of Shop are refused"):
        rehearsed(dynamodb_client, wrong)


def test_the_estimate_agrees_with_the_measurement(dynamodb_client):
    expected = estimate(shop())
    for name, result in rehearsed(dynamodb_client).items():
        estimated = expected[name]
        if name == "orders_by_status":
            continue  # scaled down: there are fewer items than its limit
        assert result.most("write_units") == estimated.write_units, name
        assert result.most("requests") == estimated.requests, name
        assert result.average("read_units") == pytest.approx(estimated.read_units, abs=1.0), name


def test_generated_items_have_the_declared_size_and_collections():
    population = Population(shop(), 200)
    orders = population.records["order"]
    users = [order["user_id"] for order in orders]
    assert users.count(users[0]) == 200  # the largest collection fills what is allowed
    small = Population(shop({"entities.order.volume.collection_items_max": 20}), 200)
    users = [order["user_id"] for order in small.records["order"]]
    assert [users.count(user) for user in dict.fromkeys(users)] == [20, *[5] * 36]


def test_generated_items_are_stored_with_the_declared_size(dynamodb_client):
    rehearsed(dynamodb_client)
    items = dynamodb_client.scan(TableName="Shop")["Items"]
    sizes = {item_bytes(item) for item in items if item.get("type") == {"S": "order"}}
    assert sizes == {600}


def test_the_hottest_value_has_its_share():
    change = {"entities.order.attributes.status": {"distinct": 50, "hottest_share": 0.4}}
    records = Population(shop(change), 500).records["order"]
    statuses = [record["status"] for record in records]
    assert 180 <= statuses.count(statuses[0]) <= 220


def test_the_same_design_gives_the_same_items():
    assert Population(shop(), 50).records == Population(shop(), 50).records


def test_json_has_every_pattern(dynamodb_client):
    document = json.loads(json_of(rehearse(shop(), dynamodb_client, FEW)))
    assert document["holds"] is True
    assert document["patterns"]["user"]["average"]["read_units"] == 0.5


def test_the_command_runs_in_this_process(capsys):
    assert run("test", HERE / "shop.toml", "--items", 30, "--calls", 2) == 0
    assert "shop: 7 patterns on 90 items, all within their budgets" in capsys.readouterr().out


def test_the_command_fails_on_a_budget(tmp_path, capsys):
    path = tmp_path / "shop.toml"
    path.write_text(design_to_toml(shop({"patterns.user.budget": {"read_units": 0.1}})))
    assert run("test", path, "--items", 30, "--calls", 2) == 1
    assert "FAILED user: read_units is 0.5, the budget allows 0.1" in capsys.readouterr().out


def test_the_command_leaves_the_tables_of_a_service_alone(dynamodb_server, capsys, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    endpoint = dynamodb_server.endpoint_url
    arguments = ("--endpoint", endpoint, "--items", 30, "--calls", 1)
    client = dynamodb_server.client()
    client.create_table(**create_table_document(shop().table("Shop")))
    assert run("test", HERE / "shop.toml", *arguments) == 0
    assert "all within their budgets" in capsys.readouterr().out
    assert client.list_tables()["TableNames"] == ["Shop"]
    assert client.scan(TableName="Shop")["Count"] == 0


def test_a_service_that_does_not_answer_is_an_error(capsys, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    arguments = ("--cloudwatch", "--endpoint", "http://127.0.0.1:1")
    assert run("watch", HERE / "shop.toml", *arguments) == 2
    assert "hashrange: Could not connect" in capsys.readouterr().err


def test_design_files_are_collected_as_tests(tmp_path):
    document = yaml.safe_dump(
        {
            "name": "tiny",
            "tables": {"Tiny": {"partition_key": "id"}},
            "entities": {"thing": {"attributes": {"id": "S"}}},
            "patterns": {
                "add": {"operation": "create", "entities": ["thing"]},
                "thing": {
                    "operation": "get", "entities": ["thing"], "budget": {"read_units": 0.1},
                },
            },
        }
    )  # fmt: skip
    (tmp_path / "tiny.design.yaml").write_text(document)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 2 passed" in done.stdout
    assert "read_units is 0.5, the budget allows 0.1" in done.stdout
