"""A design as a class: methods with the signatures that were declared."""

import dataclasses

import pytest

from hashrange.toolkit import Entity, Index, Step, Table, begins_with
from hashrange.toolkit.client.pages import Pages
from hashrange.toolkit.declarations import (
    DesignBase,
    batch_get,
    batch_write,
    create,
    delete,
    get,
    put,
    query,
    query_one,
    scan,
    select,
    transact,
    update,
)
from hashrange.toolkit.errors import DesignError


@dataclasses.dataclass
class Customer:
    customer_id: str
    name: str = ""


@dataclasses.dataclass
class Order:
    customer_id: str
    order_id: str
    total: int = 0


class Shop(DesignBase, style="single_table"):
    """A small shop."""

    table = Table(
        "Shop", "PK", "SK", indexes=(Index("Orders", "order_id", projection="KEYS_ONLY"),)
    )
    customers = Entity("customer", {"PK": "C#{customer_id}", "SK": "PROFILE"}, Customer)
    orders = Entity("order", {"PK": "C#{customer_id}", "SK": "ORDER#{order_id}"}, Order)

    @get(customers)
    def customer(self, customer_id: str) -> None:
        """One customer."""

    @create(customers)
    def add_customer(self, customer: Customer) -> None:
        """A new customer."""

    @put(orders)
    def save_order(self, order: Order) -> None:
        """Write an order."""

    @batch_write(orders)
    def save_orders(self, orders: list[Order]) -> None:
        """Write orders."""

    @batch_get(orders)
    def some_orders(self, keys: list[dict[str, str]]) -> None:
        """Some orders."""

    @query(orders, sort_key=begins_with("ORDER#"), newest_first=True)
    def customer_orders(self, customer_id: str, limit: int | None = None) -> None:
        """The orders of a customer, newest first."""

    @query(customers, orders)
    def account(self, customer_id: str) -> None:
        """A customer and the orders."""

    @query_one(orders, sort_key=begins_with("ORDER#"), newest_first=True)
    def last_order(self, customer_id: str) -> None:
        """The last order."""

    @select(orders, index="Orders", partition_key="{order_id}")
    def owner(self, order_id: str) -> None:
        """Whose order it is."""

    @update(orders, "SET total = :total", condition="total < :total")
    def raise_total(self, customer_id: str, order_id: str, total: int) -> None:
        """Let an order cost more."""

    @delete(orders)
    def cancel(self, customer_id: str, order_id: str) -> None:
        """Delete an order."""

    @scan("there is a monthly export")
    def export(self) -> None:
        """Everything."""

    @transact("order and customer belong together", Step("put", "order"), Step("put", "customer"))
    def first_order(self, order: Order, customer: Customer) -> None:
        """A new customer with an order."""


@pytest.fixture
def shop(service):
    bound = Shop(service)
    bound.create_tables()
    return bound


def test_declared_patterns_are_methods(shop):
    assert shop.add_customer(Customer("7", "Ann")) == Customer("7", "Ann")
    assert shop.save_orders([Order("7", str(number), number) for number in range(5)]) == 5
    assert shop.save_order(Order("7", "9", 9)).total == 9
    assert isinstance(shop.customer_orders("7"), Pages)
    assert [each.order_id for each in shop.customer_orders("7", limit=2)] == ["9", "4"]
    assert shop.customer(customer_id="7") == Customer("7", "Ann")
    assert shop.last_order("7") == Order("7", "9", 9)
    assert shop.owner("4").all() == [{"customer_id": "7", "order_id": "4"}]
    assert shop.raise_total("7", "4", total=44).total == 44
    assert len(shop.some_orders([{"customer_id": "7", "order_id": "4"}])) == 1
    assert shop.cancel("7", "4") == Order("7", "4", 44)
    shop.first_order(Order("8", "1"), Customer("8"))
    assert len(shop.account("8").all()) == 2
    assert len(shop.export().all()) == 8


def test_the_class_has_the_design_for_tools():
    assert Shop.design.name == "Shop"
    assert Shop.design.style == "single_table"
    assert Shop.design.description == "A small shop."
    assert Shop.design.pattern("customer_orders").description.startswith("The orders of")
    assert Shop.customer.pattern.operation == "get"


def test_a_wrong_call_is_refused_as_by_any_function(shop):
    with pytest.raises(TypeError):
        shop.customer()
    with pytest.raises(TypeError):
        shop.customer("7", nobody=1)


def test_a_function_that_does_not_fit_its_pattern_is_refused():
    with pytest.raises(DesignError, match=r"lacks the parameters order_id"):

        class Missing(DesignBase):
            table = Shop.table
            orders = Shop.orders

            @get(orders)
            def order(self, customer_id: str) -> None:
                """One order."""

    with pytest.raises(DesignError, match=r"parameters of no use: colour"):

        class Unknown(DesignBase):
            table = Shop.table
            orders = Shop.orders

            @get(orders)
            def order(self, customer_id: str, order_id: str, colour: str) -> None:
                """One order."""

    with pytest.raises(DesignError, match="declare it with select"):

        class Partial(DesignBase):
            table = Shop.table
            orders = Shop.orders

            @query(orders, index="Orders", partition_key="{order_id}")
            def owner(self, order_id: str) -> None:
                """Whose order it is."""
