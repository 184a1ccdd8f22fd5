"""Estimated units per call follow DynamoDB's rounding and the declared volumes."""

import pytest

from hashrange.toolkit.cost.consumption import estimate
from hashrange.toolkit.cost.traffic import average_units, peak_units
from tests.toolkit.checker.documents import shop


def of(name, change=None):
    return estimate(shop(change))[name]


def volume(**declared):
    return {"entities.order.volume": declared}


@pytest.mark.parametrize(
    ("item_bytes", "consistent", "units"),
    [(400, False, 0.5), (4096, False, 0.5), (4097, False, 1), (4097, True, 2)],
)
def test_a_get_reads_in_steps_of_4_kb(item_bytes, consistent, units):
    change = {
        "entities.user.volume.item_bytes": item_bytes,
        "patterns.user.consistent": consistent,
    }
    assert of("user", change).reads == {"Shop": units}


def test_a_query_rounds_the_sum_of_its_items():
    change = {**volume(item_bytes=600, collection_items=10), "patterns.user_orders.limit": None}
    assert of("user_orders", change).reads == {"Shop": 1}  # 6,000 bytes: two halves


def test_a_limit_bounds_what_is_read():
    assert of("user_orders", volume(item_bytes=600, collection_items=500)).items_examined == 20


def test_a_filter_reads_more_than_it_returns():
    change = {
        **volume(item_bytes=600, collection_items=500),
        "patterns.user_orders.filter": "status = :status",
        "patterns.user_orders.filter_keeps": 0.25,
    }
    found = of("user_orders", change)
    assert (found.items_examined, found.items_returned) == (80, 20)


def test_a_read_of_shards_pays_for_each_shard():
    found = of("orders_by_status", volume(item_bytes=600, collection_items=4))
    assert (found.requests, found.reads) == (8, {"Shop.GSI1": 4})


def test_a_write_is_paid_in_the_table_and_in_its_indexes():
    assert of("place_order", volume(item_bytes=1500)).writes == {"Shop": 2, "Shop.GSI1": 1}


@pytest.mark.parametrize(
    ("update", "index_units"),
    [("SET status = :status", 2), ("SET total = :total", 1), ("SET note = :note", 0)],
    ids=["the key moves", "a projected attribute", "another attribute"],
)
def test_an_update_is_paid_in_an_index_only_if_it_shows_there(update, index_units):
    change = {
        "entities.order.version": None,
        "entities.order.attributes.note": "S",
        "patterns.change": {"operation": "update", "entities": ["order"], "update": update},
    }
    assert of("change", change).writes["Shop.GSI1"] == index_units


def test_a_transaction_is_paid_twice_but_not_in_indexes():
    change = {
        "patterns.buy": {
            "operation": "transact_write",
            "steps": [
                {"action": "create", "entity": "order"},
                {"action": "check", "entity": "user", "condition": "attribute_exists(PK)"},
            ],
        }
    }
    assert of("buy", change).writes == {"Shop": 4, "Shop.GSI1": 1}


def test_what_is_assumed_is_said():
    found = of("user", {"entities.user.volume": None})
    assert found.assumptions == ("items of user have 1024 bytes",)
    assert of("user").assumptions == ()


def test_traffic_adds_up_over_patterns():
    only = {
        "patterns": {
            "user": {"operation": "get", "entities": ["user"], "rate": {"average": 10, "peak": 60}},
            "add": {"operation": "create", "entities": ["session"], "rate": {"average": 4}},
        }
    }
    assert average_units(shop(only))["Shop"].read == 5
    assert peak_units(shop(only))["Shop"].read == 30
    assert peak_units(shop(only))["Shop"].write == 4
