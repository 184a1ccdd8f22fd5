"""Access patterns are carried out as declared: keys, indexes, shards, buckets, versions, guards."""

import dataclasses
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum

import pydantic
import pytest

from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.codecs.encryption import Encryption
from hashrange.toolkit.design.entities import Attribute, Entity
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import (
    AccessPattern,
    Step,
    begins_with,
    between,
)
from hashrange.toolkit.design.tables import Index, KeyAttribute, Table
from hashrange.toolkit.errors import (
    AlreadyExists,
    ConditionFailed,
    DesignError,
    NotFound,
    NotUnique,
    TransactionFailed,
    VersionConflict,
)
from hashrange.toolkit.execution.executor import Binding
from tests.harness.presence import there

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)


class Status(StrEnum):
    OPEN = "open"
    PAID = "paid"


@dataclasses.dataclass
class User:
    user_id: str
    email: str
    name: str = ""
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Order(pydantic.BaseModel):
    user_id: str
    order_id: str
    placed_at: datetime
    status: Status = Status.OPEN
    total: Decimal = Decimal(0)
    flagged: str | None = None


@dataclasses.dataclass
class Reading:
    sensor: str
    at: datetime
    value: float


@dataclasses.dataclass
class Session:
    session_id: str
    user_id: str


TABLE = Table(
    "Shop",
    "PK",
    "SK",
    ttl="expires_at",
    indexes=(
        Index("GSI1", "GSI1PK", "GSI1SK"),
        Index("Flagged", "flagged", "SK", projection="KEYS_ONLY", sparse=True),
        Index("ByTotal", "user_id", KeyAttribute("total", "N")),
    ),
)
DESIGN = Design(
    "shop",
    (TABLE,),
    (
        Entity(
            "user",
            {"PK": "USER#{user_id}", "SK": "PROFILE"},
            model=User,
            unique=("email",),
            version="version",
            created="created_at",
            updated="updated_at",
        ),
        Entity(
            "order",
            {
                "PK": "USER#{user_id}",
                "SK": "ORDER#{placed_at}#{order_id}",
                "GSI1PK": "STATUS#{status}#{order_id:shard 3}",
                "GSI1SK": "{placed_at}",
            },
            model=Order,
        ),
        Entity(
            "reading",
            {"PK": "SENSOR#{sensor}#{at:%Y-%m-%d}", "SK": "{at}"},
            model=Reading,
            attributes=(Attribute("at", format="timestamp"),),
        ),
        Entity("counter", {"PK": "COUNTER#{name}", "SK": "COUNTER"}, model=dict),
        Entity(
            "session",
            {"PK": "SESSION#{session_id}", "SK": "SESSION"},
            model=Session,
            expires_after=3600,
            ephemeral=True,
        ),
    ),
    (
        AccessPattern("user", "get", ("user",)),
        AccessPattern("create_user", "create", ("user",)),
        AccessPattern("save_user", "put", ("user",)),
        AccessPattern("delete_user", "delete", ("user",)),
        AccessPattern("change_email", "update", ("user",), update="SET email = :email"),
        AccessPattern("rename_user", "update", ("user",), update="SET name = :name"),
        AccessPattern(
            "take_email",
            "update",
            ("user",),
            update="SET email = :email",
            condition="name = :name",
        ),
        AccessPattern("note", "update", ("counter",), update="SET note = :note", upsert=True),
        AccessPattern("user_with_orders", "query", ("user", "order")),
        AccessPattern(
            "user_orders",
            "query",
            ("order",),
            sort_key=begins_with("ORDER#{placed_at:%Y}-{month}"),
            newest_first=True,
        ),
        AccessPattern("place_order", "put", ("order",)),
        AccessPattern("place_orders", "batch_write", ("order",)),
        AccessPattern("orders", "batch_get", ("order",)),
        AccessPattern("orders_by_status", "query", ("order",), index="GSI1"),
        AccessPattern("newest_by_status", "query", ("order",), index="GSI1", newest_first=True),
        AccessPattern(
            "last_by_status", "query", ("order",), index="GSI1", newest_first=True, single=True
        ),
        AccessPattern(
            "set_status",
            "update",
            ("order",),
            update="SET status = :status",
            condition="status <> :status",
        ),
        AccessPattern("flag", "update", ("order",), update="SET flagged = :flag"),
        AccessPattern("unflag", "update", ("order",), update="REMOVE flagged"),
        AccessPattern(
            "flagged_orders", "query", ("order",), index="Flagged", partition_key="{flag}"
        ),
        AccessPattern(
            "dear_orders",
            "query",
            ("order",),
            index="ByTotal",
            sort_key=between("{low}", "{high}"),
            projection=("order_id", "total"),
            filter="status = :status",
        ),
        AccessPattern("totals_by_status", "query", ("order",), index="GSI1", projection=("total",)),
        AccessPattern("record", "put", ("reading",)),
        AccessPattern("readings", "query", ("reading",), sort_key=between("{at_from}", "{at_to}")),
        AccessPattern("count", "update", ("counter",), update="ADD hits :by", upsert=True),
        AccessPattern("start_session", "create", ("session",)),
        AccessPattern("everything", "scan"),
        AccessPattern(
            "pay",
            "transact_write",
            steps=(
                Step(
                    "update",
                    "order",
                    update="SET status = :status",
                    condition="total <= :budget",
                    message="too dear",
                ),
                Step("create", "session"),
                Step("check", "user", condition="version = :version"),
            ),
        ),
        AccessPattern(
            "two_users",
            "transact_get",
            steps=(
                Step("check", "user", rename={"user_id": "first"}),
                Step("check", "user", rename={"user_id": "second"}),
            ),
        ),
    ),
)


@pytest.fixture
def shop(service):
    bound = BoundDesign(DESIGN, service, Binding(clock=lambda: NOW))
    bound.create_tables()
    return bound


def order(number, user="1", **more):
    return Order(
        user_id=user,
        order_id=f"o{number}",
        placed_at=NOW + timedelta(hours=number),
        total=Decimal(number),
        **more,
    )


def test_a_record_is_stored_and_returned_as_its_model(shop):
    user = shop.create_user(User("1", "a@x", "Alice"))
    assert user == User("1", "a@x", "Alice", 1, NOW, NOW)
    assert shop.user("1") == shop.user(user_id="1") == user
    assert shop.user("2") is None
    assert shop.table().get({"PK": "USER#1", "SK": "PROFILE"})["type"] == "user"


def test_a_call_that_does_not_fit_the_pattern_is_refused(shop):
    for call in (lambda: shop.user("1", "2"), lambda: shop.user(name="x"), lambda: shop.user()):
        with pytest.raises(DesignError):
            call()
    with pytest.raises(AttributeError):
        _ = shop.nonsense


def test_creating_twice_is_refused(shop):
    shop.start_session(Session("s", "1"))
    with pytest.raises(AlreadyExists):
        shop.start_session(Session("s", "1"))


def test_an_ephemeral_item_gets_its_expiry(shop):
    shop.start_session(Session("s", "1"))
    item = shop.table().get({"PK": "SESSION#s", "SK": "SESSION"})
    assert item["expires_at"] == int(NOW.timestamp()) + 3600


def test_a_unique_value_is_given_to_one_item_only(shop):
    shop.create_user(User("1", "a@x"))
    with pytest.raises(NotUnique) as refused:
        shop.create_user(User("2", "a@x"))
    assert refused.value.attribute == "email"
    assert shop.user("2") is None
    with pytest.raises(AlreadyExists):
        shop.create_user(User("1", "b@x"))


def test_a_unique_value_is_free_again_after_a_change_or_a_deletion(shop):
    shop.create_user(User("1", "a@x"))
    assert shop.change_email("1", email="b@x").email == "b@x"
    shop.create_user(User("2", "a@x"))
    with pytest.raises(NotUnique):
        shop.change_email("1", email="a@x")
    shop.save_user(dataclasses.replace(shop.user("1"), email="c@x"))
    assert shop.delete_user("1").email == "c@x"
    assert shop.delete_user("1") is None
    shop.create_user(User("3", "b@x"))
    shop.create_user(User("4", "c@x"))
    assert len(shop.table().scan().all()) == 6


def test_a_condition_of_the_pattern_is_told_from_a_change_in_between(shop):
    shop.create_user(User("1", "a@x", "Ann"))
    with pytest.raises(ConditionFailed) as failed:
        shop.take_email("1", email="b@x", name="Bob")
    assert not isinstance(failed.value, VersionConflict)
    assert shop.take_email("1", email="b@x", name="Ann").email == "b@x"
    with pytest.raises(NotFound):
        shop.take_email("2", email="c@x", name="Ann")


def test_none_is_a_value_in_an_update(shop):
    assert shop.note("home", note=None) == {"name": "home", "note": None}


def test_a_projection_over_shards_returns_only_what_was_asked_for(shop):
    shop.place_orders([order(number) for number in range(5)])
    found = shop.totals_by_status("open", limit=3).all()
    assert found == [{"total": 0}, {"total": 1}, {"total": 2}]


def test_a_version_keeps_writers_from_overwriting_each_other(shop):
    first = shop.create_user(User("1", "a@x"))
    second = shop.save_user(dataclasses.replace(first, name="Alice"))
    assert second.version == 2
    with pytest.raises(VersionConflict):
        shop.save_user(dataclasses.replace(first, name="Bob"))
    with pytest.raises(VersionConflict, match="version 2, not 1"):
        shop.rename_user("1", name="Bob", version=1)
    assert shop.rename_user("1", name="Bob", version=2).version == 3
    with pytest.raises(VersionConflict):
        shop.delete_user("1", version=2)


def test_an_update_of_an_absent_item_is_refused_unless_it_may_create(shop):
    with pytest.raises(NotFound):
        shop.rename_user("9", name="Bob")
    assert shop.count("home", by=2) == {"name": "home", "hits": 2}
    assert shop.count("home", by=3) == {"name": "home", "hits": 5}


def test_several_entities_share_an_item_collection(shop):
    shop.create_user(User("1", "a@x"))
    shop.place_orders([order(number) for number in range(3)])
    kinds = [type(record).__name__ for record in shop.user_with_orders("1")]
    assert kinds == ["Order", "Order", "Order", "User"]


def test_a_prefix_is_as_long_as_the_arguments_that_are_given(shop):
    shop.place_orders([order(number) for number in range(0, 720, 24)])
    assert len(shop.user_orders("1").all()) == 30
    assert len(shop.user_orders("1", placed_at=NOW, month="05").all()) == 15
    newest = shop.user_orders("1", limit=2).all()
    assert [each.order_id for each in newest] == ["o696", "o672"]
    with pytest.raises(DesignError, match="shortened at its end"):
        shop.user_orders("1", month="05")


def test_shards_are_gathered_in_order_and_in_pages(shop):
    shop.place_orders([order(number) for number in range(40)])
    assert [each.order_id for each in shop.orders_by_status("open")] == [
        f"o{number}" for number in range(40)
    ]
    newest = shop.newest_by_status("open")
    assert [each.order_id for each in newest] == [f"o{number}" for number in range(39, -1, -1)]
    found, cursor = [], None
    while True:
        page = newest.page(cursor, size=7)
        found += [each.order_id for each in page]
        cursor = page.cursor
        if cursor is None:
            break
        assert len(page) == 7
    assert found == [f"o{number}" for number in range(39, -1, -1)]
    assert shop.last_by_status("open").order_id == "o39"
    assert shop.last_by_status("paid") is None


def test_index_keys_follow_the_attributes_they_are_made_from(shop):
    placed = shop.place_order(order(1))
    key = {"user_id": "1", "placed_at": placed.placed_at, "order_id": "o1"}
    assert shop.set_status(**key, status=Status.PAID).status is Status.PAID
    assert shop.orders_by_status("open").all() == []
    assert shop.last_by_status("paid").order_id == "o1"
    with pytest.raises(ConditionFailed):
        shop.set_status(**key, status=Status.PAID)


def test_a_sparse_index_holds_only_the_items_that_have_its_key(shop):
    for number in range(3):
        shop.place_order(order(number))
    key = {"user_id": "1", "placed_at": NOW, "order_id": "o0"}
    shop.flag(**key, flag="fraud")
    (found,) = shop.flagged_orders("fraud")
    assert found["order_id"] == "o0"
    shop.unflag(**key)
    assert shop.flagged_orders("fraud").all() == []


def test_a_number_key_is_compared_as_a_number(shop):
    shop.place_orders([order(number) for number in (2, 9, 10, 100)])
    found = shop.dear_orders("1", low=9, high=Decimal("10.5"), status="open")
    assert [each["total"] for each in found] == [9, 10]
    assert {*found.first()} == {"order_id", "total"}


def test_time_buckets_are_read_one_after_the_other(shop):
    times = [NOW + timedelta(hours=6 * step) for step in range(20)]
    for at in times:
        shop.record(Reading("s1", at, 20.5))
    span = (times[2], times[13])
    readings = shop.readings("s1", at=span)
    assert [each.at for each in readings] == times[2:14]
    assert readings.first().value == 20.5
    backwards = shop.readings("s1", at=span, newest_first=True)
    assert [each.at for each in backwards] == times[13:1:-1]
    page = readings.page(size=5)
    assert [each.at for each in page] == times[2:7]
    assert [each.at for each in readings.page(page.cursor, size=100)] == times[7:14]


def test_records_are_fetched_in_batches(shop):
    orders = [order(number) for number in range(5)]
    shop.place_orders(orders)
    keys = [{"user_id": "1", "placed_at": o.placed_at, "order_id": o.order_id} for o in orders]
    found = sorted(shop.orders(keys), key=lambda each: each.order_id)
    assert found == orders


def test_a_scan_returns_every_entity_as_its_model(shop):
    shop.create_user(User("1", "a@x"))
    shop.place_order(order(1))
    found = [each for each in shop.everything() if not isinstance(each, dict)]
    assert {type(each) for each in found} == {User, Order}


def test_a_transaction_by_design_names_the_step_that_failed(shop):
    shop.create_user(User("1", "a@x"))
    shop.place_order(order(5))
    arguments = {
        "user_id": "1",
        "placed_at": NOW + timedelta(hours=5),
        "order_id": "o5",
        "status": Status.PAID,
        "session": Session("s", "1"),
        "version": 1,
    }
    with pytest.raises(TransactionFailed, match="too dear"):
        shop.pay(**arguments, budget=4)
    shop.pay(**arguments, budget=5)
    assert shop.last_by_status("paid").order_id == "o5"
    with pytest.raises(TransactionFailed, match="Put on Shop"):
        shop.pay(**arguments, budget=5)
    assert [each and each.email for each in shop.two_users("1", "2")] == ["a@x", None]


def test_items_can_carry_another_label_than_the_name_of_their_entity(service):
    entity = Entity("user", {"PK": "U#{user_id}", "SK": "{kind}"}, dict, label="USER")
    patterns = (AccessPattern("save", "put", ("user",)), AccessPattern("users", "scan"))
    app = BoundDesign(Design("app", (Table("App", "PK", "SK"),), (entity,), patterns), service)
    app.create_tables()
    app.save({"user_id": "1", "kind": "x"})
    assert there(app.table().scan().first())["type"] == "USER"
    assert app.users().all() == [{"user_id": "1", "kind": "x"}]


def test_codecs_hold_in_transactions_too(service):
    codec = Encryption(["card"], {"k": bytes(32)}, current="k", key_names=["PK", "SK"])
    entity = Entity("user", {"PK": "U#{user_id}", "SK": "USER"}, dict)
    step = Step("create", "user")
    patterns = (
        AccessPattern("add", "transact_write", steps=(step,)),
        AccessPattern("both", "transact_get", steps=(Step("check", "user"),)),
        AccessPattern(
            "change", "transact_write", steps=(Step("update", "user", update="SET card = :card"),)
        ),
    )
    design = Design("app", (Table("App", "PK", "SK"),), (entity,), patterns)
    app = BoundDesign(design, service, Binding(codecs={"user": (codec,)}))
    app.create_tables()
    app.add({"user_id": "1", "card": "4242"})
    assert isinstance(there(app.table().scan().first())["card"], bytes)
    assert app.both("1") == [{"user_id": "1", "card": "4242"}]
    with pytest.raises(DesignError, match="written whole"):
        app.change("1", card="x")


def test_tables_can_be_called_otherwise_at_the_service(service):
    binding = Binding(names={"Shop": "Shop-test"}, clock=lambda: NOW)
    shop = BoundDesign(DESIGN, service, binding)
    shop.create_tables()
    shop.create_tables()
    shop.create_user(User("1", "a@x"))
    assert service.list_tables()["TableNames"] == ["Shop-test"]
    assert shop.user("1").email == "a@x"
    ttl = service.describe_time_to_live(TableName="Shop-test")
    assert ttl["TimeToLiveDescription"]["AttributeName"] == "expires_at"
