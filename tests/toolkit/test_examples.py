"""Every access pattern of every example design, carried out."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from examples.designs import (
    chat,
    game_sessions,
    iot,
    order_entry,
    saas,
    shop,
    social,
)
from hashrange.toolkit import Binding, design_to_toml, load_design
from hashrange.toolkit.checker.check import check_design
from hashrange.toolkit.errors import (
    AlreadyExists,
    ConditionFailed,
    NotUnique,
    TransactionFailed,
    VersionConflict,
)

NOW = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)
DESIGNS = [
    shop.Shop,
    chat.Chat,
    game_sessions.Games,
    iot.Sensors,
    social.Social,
    saas.Service,
    order_entry.OrderEntry,
]


@pytest.fixture
def made(service):
    """Bind a design to the service and create its tables; note which patterns are called."""
    called = set()

    def make(kind):
        design = kind(service, Binding(clock=lambda: NOW))
        design.create_tables()
        call = design.bound.call

        def noting(pattern, positional, named):
            called.add(pattern.name)
            return call(pattern, positional, named)

        design.bound.call = noting
        return design

    vars(make)["called"] = called
    return make


def minutes(number):
    return NOW + timedelta(minutes=number)


def all_called(made, kind):
    return {pattern.name for pattern in kind.design.patterns} - made.called == set()


@pytest.mark.parametrize("kind", DESIGNS, ids=lambda kind: kind.design.name)
def test_the_checker_has_nothing_to_warn_about(kind):
    verdict = check_design(kind.design, NOW.date())
    assert not verdict.fails("warning"), verdict.findings


@pytest.mark.parametrize("kind", DESIGNS, ids=lambda kind: kind.design.name)
def test_an_example_survives_as_a_file(kind, tmp_path):
    path = tmp_path / "design.toml"
    path.write_text(design_to_toml(kind.design))
    loaded = load_design(path)
    assert [each.name for each in loaded.patterns] == [each.name for each in kind.design.patterns]
    assert loaded.tables == kind.design.tables


def test_the_shop_is_there_as_a_file_too():
    path = Path(shop.__file__).with_suffix(".toml")
    assert path.read_text() == design_to_toml(shop.Shop.design)


def test_shop(made):
    store = made(shop.Shop)
    store.sign_up(shop.Customer("c1", "ann@x", "Ann"))
    with pytest.raises(NotUnique):
        store.sign_up(shop.Customer("c2", "ann@x", "Ann"))
    assert store.customer("c1").version == 1
    store.load_products(
        [shop.Product(f"p{n}", "tea", f"Tea {n}", Decimal("3.50"), 10) for n in range(3)]
    )
    for number in range(12):
        order = shop.Order(
            "c1", f"o{number}", minutes(number), shop.Status.PENDING, Decimal("3.50")
        )
        line = shop.Line(f"o{number}", "p0", 1, Decimal("3.50"))
        place = partial(shop.order_products, store, order, [line])
        if number < 10:
            place()
        else:
            with pytest.raises(TransactionFailed, match="not enough in stock"):
                place()
    assert [each.order_id for each in store.customer_orders("c1", limit=2)] == ["o9", "o8"]
    assert [each.order_id for each in store.orders_by_status(shop.Status.PENDING, limit=4)] == [
        "o0",
        "o1",
        "o2",
        "o3",
    ]
    paid = store.set_status("c1", minutes(2), "o2", shop.Status.PAID)
    assert paid.status is shop.Status.PAID
    with pytest.raises(ConditionFailed):
        store.set_status("c1", minutes(2), "o2", shop.Status.PAID)
    assert [each.order_id for each in store.orders_by_status(shop.Status.PAID)] == ["o2"]
    assert store.order_lines("o2").all() == [shop.Line("o2", "p0", 1, Decimal("3.50"))]
    assert [each.stock for each in store.products_of_category("tea")] == [0, 10, 10]
    assert all_called(made, shop.Shop)


def test_chat(made):
    rooms = made(chat.Chat)
    rooms.open_room(chat.Room("r1", "Tea"))
    assert rooms.room("r1").title == "Tea"
    for user in ("ann", "bob"):
        rooms.join(chat.Membership("r1", user, NOW))
    rooms.join(chat.Membership("r2", "ann", NOW))
    assert [each.user_id for each in rooms.members_of_room("r1")] == ["ann", "bob"]
    assert [each.room_id for each in rooms.rooms_of_user("ann")] == ["r1", "r2"]
    for number in range(5):
        at = NOW + timedelta(minutes=15 * number)
        rooms.say(chat.Message("r1", at, f"m{number}", "ann", f"hello {number}"))
    span = (NOW, NOW + timedelta(minutes=45))
    history = rooms.history("r1", span)
    assert [each.message_id for each in history] == ["m3", "m2", "m1", "m0"]
    assert rooms.history("r1", span, newest_first=False).first().message_id == "m0"
    assert rooms.last_message("r1", NOW).message_id == "m1"
    assert rooms.count_unread("r1", "bob", count=2).unread == 2
    assert rooms.mark_read("r1", "bob").unread == 0
    assert rooms.leave("r1", "bob").user_id == "bob"
    assert all_called(made, chat.Chat)


def test_game_sessions(made):
    games = made(game_sessions.Games)
    games.register(game_sessions.Player("1", "ace"))
    with pytest.raises(NotUnique):
        games.register(game_sessions.Player("2", "ace"))
    games.log_in(game_sessions.Session("1", "s1", "phone"))
    assert games.session("1", "s1").device == "phone"
    assert len(games.sessions_of_player("1").all()) == 1
    for number in range(3):
        games.host_game(game_sessions.Game(f"g{number}", "duel", "1", minutes(number), ["1"]))
    assert [each.game_id for each in games.open_games("duel", NOW)] == ["g0", "g1", "g2"]
    assert games.join("g0", ["2"], seats=2).players == ["1", "2"]
    with pytest.raises(ConditionFailed):
        games.join("g0", ["3"], seats=2)
    games.start("g0")
    assert [each.game_id for each in games.open_games("duel", NOW)] == ["g1", "g2"]
    for player in range(30):
        games.submit_score(game_sessions.Score("duel", str(player), player * 7))
    with pytest.raises(ConditionFailed):
        games.submit_score(game_sessions.Score("duel", "29", 5))
    assert [each.score for each in games.top_scores("duel", limit=3)] == [203, 196, 189]
    assert all_called(made, game_sessions.Games)


def test_iot(made):
    sensors = made(iot.Sensors)
    sensors.install(iot.Device("d1", "north", "T1"))
    assert [each.device_id for each in sensors.devices_of_site("north")] == ["d1"]
    readings = [iot.Reading("d1", minutes(10 * n), Decimal(n)) for n in range(30)]
    sensors.record(readings)
    found = sensors.history("d1", (minutes(20), minutes(200)))
    assert [each.celsius for each in found] == list(range(2, 21))
    sensors.update_latest(iot.Latest("d1", "north", minutes(5), Decimal(5)))
    with pytest.raises(ConditionFailed):
        sensors.update_latest(iot.Latest("d1", "north", minutes(4), Decimal(4)))
    assert sensors.now("d1").celsius == 5
    assert [each.celsius for each in sensors.site_now("north")] == [5]
    sensors.raise_alarm(iot.Alarm("d1", NOW, "hot", "north"))
    assert [each.kind for each in sensors.open_alarms("north")] == ["hot"]
    assert sensors.resolve("d1", NOW).open_site is None
    assert sensors.open_alarms("north").all() == []
    assert all_called(made, iot.Sensors)


def test_social(made):
    graph = made(social.Social)
    for name in ("ann", "bob", "cat"):
        graph.join(social.Person(name, f"@{name}"))
    with pytest.raises(NotUnique):
        graph.rename("bob", handle="@ann")
    assert graph.rename("bob", handle="@rob").handle == "@rob"
    assert graph.person("bob").handle == "@rob"
    graph.follow(social.Follow("bob", "ann", NOW))
    graph.follow(social.Follow("cat", "ann", minutes(1)))
    with pytest.raises(AlreadyExists):
        graph.follow(social.Follow("bob", "ann", NOW))
    assert [each.followee for each in graph.following("bob")] == ["ann"]
    assert [each.follower for each in graph.followers("ann")] == ["cat", "bob"]
    posts = [social.Post("ann", minutes(number), f"post {number}") for number in range(3)]
    assert [social.publish(graph, post) for post in posts] == [2, 2, 2]
    assert [each.text for each in graph.timeline("bob", limit=2)] == ["post 2", "post 1"]
    social.like_post(graph, posts[0], "bob")
    with pytest.raises(TransactionFailed, match="liked already"):
        social.like_post(graph, posts[0], "bob")
    assert [each.likes for each in graph.posts_of("ann")] == [0, 0, 1]
    assert [each.person_id for each in graph.likes_of("ann", NOW)] == ["bob"]
    assert graph.unfollow("bob", "ann").followee == "ann"
    assert all_called(made, social.Social)


def test_saas(made):
    service = made(saas.Service)
    service.sign_up(saas.Tenant(tenant_id="t1", name="Acme"))
    assert service.tenant("t1").plan == "free"
    user = service.invite(saas.User(tenant_id="t1", user_id="u1", email="a@x"))
    with pytest.raises(NotUnique):
        service.invite(saas.User(tenant_id="t2", user_id="u1", email="a@x"))
    service.save_user(user.model_copy(update={"role": "admin"}))
    with pytest.raises(VersionConflict):
        service.save_user(user)
    assert [each.role for each in service.users_of_tenant("t1")] == ["admin"]
    for number in range(3):
        service.add_task(
            saas.Task(
                tenant_id="t1",
                project="p",
                task_id=f"k{number}",
                title=f"Task {number}",
                due=minutes(-number),
                assignee="u1",
            )
        )
    assert len(service.tasks_of_project("t1", "p").all()) == 3
    assert [each["title"] for each in service.tasks_of_user("t1", "u1")] == [
        "Task 2",
        "Task 1",
        "Task 0",
    ]
    assert service.assign("t1", "p", "k0", assignee="u2", version=1).version == 2
    service.unassign("t1", "p", "k1")
    assert [each["task_id"] for each in service.tasks_of_user("t1", "u1")] == ["k2"]
    assert [each["task_id"] for each in service.tasks_of_user("t1", "u2")] == ["k0"]
    for month in ("2025-12", "2026-01", "2026-01"):
        service.count_usage("t1", month, requests=5, bytes=100)
    assert [each.requests for each in service.usage_of_year("t1", "2026")] == [10]
    for number in range(4):
        event = saas.AuditEvent(
            tenant_id="t1", at=minutes(20 * number), user_id="u1", action=f"a{number}"
        )
        service.log(event)
    found = service.audit_log("t1", (NOW, minutes(45)))
    assert [each.action for each in found] == ["a2", "a1", "a0"]
    assert all_called(made, saas.Service)


def test_order_entry(made):
    entry = made(order_entry.OrderEntry)
    day = date(2026, 3, 1)
    for number, title in enumerate(["Clerk", "Clerk", "Manager"]):
        hired = day + timedelta(days=number)
        entry.hire(order_entry.Employee(f"e{number}", f"Name {number}", title, "w1", hired, ["1"]))
    assert entry.employee("e1").name == "Name 1"
    assert [each.employee_id for each in entry.employees_by_name("Name 2")] == ["e2"]
    assert [each["name"] for each in entry.employees_with_title("Clerk")] == ["Name 0", "Name 1"]
    assert len(entry.employees_of_warehouse("w1").all()) == 3
    since = entry.hired_since(day, since=day + timedelta(days=1))
    assert [each.employee_id for each in since] == ["e1", "e2"]
    entry.add_customer(order_entry.Customer("c1", "Ann", ["555"], "e2"))
    assert entry.customer("c1").phones == ["555"]
    assert [each.customer_id for each in entry.customers_of_representative("e2")] == ["c1"]
    for number in range(5):
        placed = day + timedelta(days=number)
        order = order_entry.Order(f"o{number}", "c1", "e2", placed, "open", number, "2026-03")
        entry.add_order(order)
        entry.save_lines([order_entry.Line(f"o{number}", "p1", placed, number)])
        entry.add_sale("2026-Q1", f"e{number % 2}", amount=number)
    span = (day + timedelta(days=1), day + timedelta(days=3))
    for found in (
        entry.orders_of_customer("c1", *span),
        entry.orders_of_representative("e2", *span),
        entry.open_orders("2026-03", *span),
    ):
        assert [each.order_id for each in found] == ["o1", "o2", "o3"]
    assert entry.close_order("o2", status="shipped").status == "shipped"
    assert [each.order_id for each in entry.open_orders("2026-03", *span)] == ["o1", "o3"]
    assert [each.quantity for each in entry.orders_of_product("p1", limit=2)] == [4, 3]
    entry.add_product(order_entry.Product("p1", "Tea", 12))
    for warehouse in ("w1", "w2"):
        entry.add_stock(order_entry.Stock("p1", warehouse, 6))
    assert entry.product("p1").total_stock == 12
    assert entry.stock_in_warehouse("p1", "w1").quantity == 6
    assert [each.warehouse_id for each in entry.stock_of_product("p1")] == ["w1", "w2"]
    assert [(each.representative, each.total) for each in entry.ranking("2026-Q1")] == [
        ("e0", 6),
        ("e1", 4),
    ]
    assert all_called(made, order_entry.OrderEntry)
