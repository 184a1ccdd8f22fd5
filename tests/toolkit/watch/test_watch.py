"""Recorded requests are tied to the patterns behind them."""

import json
from typing import Any

import pytest

from examples.designs.chat import Chat
from examples.designs.game_sessions import Games
from examples.designs.iot import Sensors
from examples.designs.order_entry import OrderEntry
from examples.designs.saas import Service
from examples.designs.shop import Shop
from examples.designs.social import Social
from hashrange.cli.main import main
from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.client.pages import Pages
from hashrange.toolkit.cost.prices import load_prices
from hashrange.toolkit.errors import ConditionFailed, DesignError, NotFound
from hashrange.toolkit.rehearsal.arguments import Arguments
from hashrange.toolkit.rehearsal.population import Population
from hashrange.toolkit.rehearsal.rehearse import load
from hashrange.toolkit.watch.analysis import analyse
from hashrange.toolkit.watch.matching import Matcher
from hashrange.toolkit.watch.output import json_of, text_of
from hashrange.toolkit.watch.recorder import record
from hashrange.toolkit.watch.remarks import remarks_of
from hashrange.toolkit.watch.trace import Request, line_of, read_trace, units_of
from tests.harness.presence import there
from tests.toolkit.checker.documents import HERE, shop

EXAMPLES = [Chat, Games, Sensors, OrderEntry, Service, Shop, Social]
# Requests that cannot be told from those of another pattern: the read before a unique value
# changes, and a first save, which is a create.
ALIKE = {("rename", "person"), ("save_user", "invite")}


def served(**values):
    """Return a request that reads a user, changed by values."""
    parameters = {"TableName": "Shop", "Key": {"PK": {"S": "USER#7"}, "SK": {"S": "PROFILE"}}}
    return Request(
        **{
            "at": 0.0,
            "operation": "GetItem",
            "parameters": parameters,
            "units": {"Shop": 0.5},
            "examined": 1,
            "returned": 1,
            **values,
        }
    )


def query(condition, values, **more):
    parameters = {
        "TableName": "Shop",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()},
        **more,
    }
    return served(operation="Query", parameters=parameters)


def kinds(requests, change=None):
    traffic = analyse(shop(change), requests)
    return {(remark.kind, remark.subject) for remark in remarks_of(traffic)}


def recorded(design, client):
    """Yield each pattern with the requests that calls of it send."""
    bound = BoundDesign(design, client)
    bound.create_tables()
    population = Population(design, 40)
    load(bound, population)
    arguments = Arguments(design, population)
    for pattern in design.patterns:
        lines: list[Any] = []
        stop = record(client, lines.append, clock=lambda: 5.0)
        for n in range(2):
            try:
                result = bound.call(pattern, (), arguments.of(pattern, n))
                if isinstance(result, Pages):
                    list(result)
            except (ConditionFailed, NotFound):
                continue
        stop()
        yield pattern, [Request(**json.loads(line)) for line in lines]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.design.name)
def test_the_pattern_behind_each_request_is_found(example, dynamodb_client):
    matcher = Matcher(example.design)
    mistaken = set()
    for pattern, requests in recorded(example.design, dynamodb_client):
        assert requests, pattern.name
        for request in requests:
            found = matcher.pattern_of(request)
            if found is not pattern:
                mistaken.add((pattern.name, found.name if found else None))
    assert mistaken <= ALIKE


def test_a_recorded_request_has_units_and_counts(dynamodb_client):
    requests = {each.name: found for each, found in recorded(shop(), dynamodb_client)}
    (first, _) = requests["user"]
    assert (first.at, first.operation, first.units, first.returned) == (
        5.0, "GetItem", {"Shop": 0.5}, 1,
    )  # fmt: skip
    assert requests["place_order"][0].units == {"Shop": 1, "Shop.GSI1": 1}


def test_nothing_is_recorded_after_the_end(dynamodb_client):
    lines: list[Any] = []
    stop = record(dynamodb_client, lines.append)
    stop()
    BoundDesign(shop(), dynamodb_client).create_tables()
    dynamodb_client.scan(TableName="Shop")
    assert lines == []


def test_a_refused_request_is_recorded_with_its_error(dynamodb_client):
    lines: list[Any] = []
    stop = record(dynamodb_client, lines.append)
    with pytest.raises(dynamodb_client.exceptions.ResourceNotFoundException):
        dynamodb_client.scan(TableName="Nowhere")
    stop()
    assert json.loads(lines[0])["error"] == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (served(), "user"),
        (query("PK = :p AND begins_with(SK, :s)", {":p": "USER#7", ":s": "ORDER#"}), "user_orders"),
        (query("#p = :p AND begins_with(#s, :s)", {":p": "USER#7", ":s": "ORDER#2026"},
               ExpressionAttributeNames={"#p": "PK", "#s": "SK"}), "user_orders"),
        (query("GSI1PK = :p", {":p": "STATUS#open#3"}, IndexName="GSI1"), "orders_by_status"),
        (query("PK = :p", {":p": "WAREHOUSE#7"}), None),
        (query("PK = :p", {":p": "USER#7"}), None),
        (query("PK = :p", {":p": "x"}, IndexName="Unknown"), None),
        (served(operation="DeleteItem"), None),
    ],
)  # fmt: skip
def test_requests_are_matched_by_operation_and_key(request_, name):
    found = Matcher(shop()).pattern_of(request_)
    assert (found.name if found else None) == name


def test_a_table_may_have_another_name_at_the_service():
    parameters = {**served().parameters, "TableName": "prod-shop"}
    matcher = Matcher(shop(), {"prod-shop": "Shop"})
    assert there(matcher.pattern_of(served(parameters=parameters))).name == "user"


def test_what_nobody_declared_is_found():
    scan = served(operation="Scan", parameters={"TableName": "Shop"})
    found = kinds([served(), scan, served(operation="DeleteItem")])
    assert {("scan", "table:Shop"), ("undeclared", "table:Shop")} <= found
    assert ("uncalled", "pattern:user") not in found
    assert ("uncalled", "pattern:session") in found
    assert ("unused-index", "index:Shop.GSI1") in found


def test_a_hot_key_is_found_with_the_pattern_behind_it():
    others = [
        served(parameters={"TableName": "Shop", "Key": {
            "PK": {"S": f"USER#{n}"}, "SK": {"S": "PROFILE"}}})
        for n in range(50, 90)
    ]  # fmt: skip
    traffic = analyse(shop(), [*[served()] * 20, *others])
    [(table, key, part, pattern)] = traffic.hot_keys
    assert (table, key, pattern) == ("Shop", "USER#7", "user")
    assert part == pytest.approx(1 / 3)


def test_waste_throttling_rates_and_budgets_are_found():
    orders = query("PK = :p AND begins_with(SK, :s)", {":p": "USER#7", ":s": "ORDER#"})
    wasteful = Request(0, "Query", orders.parameters, "", {"Shop": 9}, 100, 10)
    throttled = served(at=1.0, error="ThrottlingException", units={}, examined=0, returned=0)
    found = kinds([wasteful, throttled, *[served()] * 500])
    assert {
        ("waste", "pattern:user_orders"),
        ("budget", "pattern:user_orders"),
        ("throttled", "pattern:user"),
        ("rate", "pattern:user"),
    } <= found


def test_units_are_divided_between_table_and_indexes():
    consumed = {
        "TableName": "arn:aws:dynamodb:us-east-1:1:table/Shop",
        "CapacityUnits": 5.0,
        "Table": {"CapacityUnits": 2.0},
        "GlobalSecondaryIndexes": {"GSI1": {"CapacityUnits": 3.0}},
    }
    assert units_of({"ConsumedCapacity": consumed}) == {"Shop.GSI1": 3.0, "Shop": 2.0}


def test_a_trace_survives_the_way_through_a_file(tmp_path):
    path = tmp_path / "trace.jsonl"
    request = served(parameters={"TableName": "Shop", "Key": {"PK": {"B": b"\x00\xff"}}})
    path.write_text(line_of(request) + "\n")
    assert list(read_trace(path)) == [request]
    path.write_text("{}\n")
    with pytest.raises(DesignError, match="line 1"):
        list(read_trace(path))


def test_text_and_json_show_patterns_indexes_and_remarks():
    put = served(at=10.0, operation="PutItem", units={"Shop": 1.0, "Shop.GSI1": 1.0})
    traffic = analyse(shop(), [served(), put])
    remarks = remarks_of(traffic)
    text = text_of(traffic, remarks, load_prices())
    # One write unit in ten seconds is 262,800 a month.
    assert "index Shop.GSI1: 0.0 read units, 1.0 write units, writes cost $0.16 a month" in text
    assert "unused-index  index:Shop.GSI1: nobody reads it" in text
    document = json.loads(json_of(traffic, remarks, load_prices()))
    assert document["patterns"]["user"]["requests"] == 1


def test_the_command_reads_a_trace(tmp_path, capsys):
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(line_of(served(at=n)) for n in range(3)))
    with pytest.raises(SystemExit) as stopped:
        main(["design", "watch", str(HERE / "shop.toml"), "--trace", str(path)])
    assert stopped.value.code == 1
    assert (
        "shop: 3 requests of declared patterns, 0 others, in 2 seconds" in capsys.readouterr().out
    )
