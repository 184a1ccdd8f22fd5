"""A shop in one table: customers, products, orders with their lines, stock.

| entity    | PK                  | SK                    | GSI1PK                 | GSI1SK      |
|-----------|---------------------|-----------------------|------------------------|-------------|
| customer  | CUSTOMER#id         | PROFILE               |                        |             |
| order     | CUSTOMER#id         | ORDER#time#order      | STATUS#status#shard    | time        |
| line      | ORDER#id            | LINE#product          |                        |             |
| product   | PRODUCT#id          | PRODUCT               | CATEGORY#category      | name        |
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from hashrange.toolkit import (
    Attribute,
    Budget,
    Entity,
    Index,
    Rate,
    Step,
    Table,
    Volume,
    begins_with,
)
from hashrange.toolkit.declarations import (
    DesignBase,
    batch_write,
    create,
    get,
    query,
    transact,
    update,
)


class Status(StrEnum):
    """Where an order is on its way."""

    PENDING = "pending"
    PAID = "paid"
    SHIPPED = "shipped"


@dataclass(frozen=True)
class Customer:
    """A person with an account."""

    customer_id: str
    email: str
    name: str
    version: int = 0


@dataclass(frozen=True)
class Product:
    """A thing that can be bought, and how many there are."""

    product_id: str
    category: str
    name: str
    price: Decimal
    stock: int


@dataclass(frozen=True)
class Order:
    """An order of a customer."""

    customer_id: str
    order_id: str
    placed_at: datetime
    status: Status
    total: Decimal


@dataclass(frozen=True)
class Line:
    """One product of an order."""

    order_id: str
    product_id: str
    quantity: int
    price: Decimal


class Shop(DesignBase, name="shop", style="single_table"):
    """A shop in one table."""

    table = Table(
        "Shop",
        "PK",
        "SK",
        indexes=(
            Index(
                "GSI1",
                "GSI1PK",
                "GSI1SK",
                serves=("orders_by_status", "products_of_category"),
                reason="the packing list and the catalogue are read across customers",
            ),
        ),
        critical=True,
        point_in_time_recovery=True,
        deletion_protection=True,
        encryption="managed",
    )
    customers = Entity(
        "customer",
        {"PK": "CUSTOMER#{customer_id}", "SK": "PROFILE"},
        Customer,
        unique=("email",),
        version="version",
        attributes=(Attribute("email", format="email", sensitive=True),),
        volume=Volume(items=100_000, item_bytes=300),
    )
    orders = Entity(
        "order",
        {
            "PK": "CUSTOMER#{customer_id}",
            "SK": "ORDER#{placed_at}#{order_id}",
            "GSI1PK": "STATUS#{status}#{order_id:shard 8}",
            "GSI1SK": "{placed_at}",
        },
        Order,
        attributes=(Attribute("status", values=tuple(Status), distinct=3),),
        volume=Volume(items=1_000_000, item_bytes=400, collection_items=10),
    )
    lines = Entity(
        "line",
        {"PK": "ORDER#{order_id}", "SK": "LINE#{product_id}"},
        Line,
        volume=Volume(items=3_000_000, item_bytes=150, collection_items=3),
    )
    products = Entity(
        "product",
        {
            "PK": "PRODUCT#{product_id}",
            "SK": "PRODUCT",
            "GSI1PK": "CATEGORY#{category}",
            "GSI1SK": "{name}",
        },
        Product,
        attributes=(Attribute("category", distinct=200),),
        volume=Volume(items=20_000, item_bytes=800),
    )

    @create(customers, rate=Rate(0.1))
    def sign_up(self, customer: Customer) -> None:
        """A new customer, whose email nobody else has."""

    @get(customers, rate=Rate(20, 200), budget=Budget(read_units=0.5))
    def customer(self, customer_id: str) -> None:
        """The profile of a customer."""

    @query(
        orders,
        sort_key=begins_with("ORDER#"),
        newest_first=True,
        limit=20,
        rate=Rate(5, 50),
        budget=Budget(read_units=1.5),
    )
    def customer_orders(self, customer_id: str, limit: int | None = None) -> None:
        """The orders of a customer, newest first."""

    @query(orders, index="GSI1", limit=100, rate=Rate(0.2))
    def orders_by_status(self, status: Status, limit: int | None = None) -> None:
        """What is to be packed, oldest first; eight shards are read and merged."""

    @query(lines, rate=Rate(5))
    def order_lines(self, order_id: str) -> None:
        """The lines of an order."""

    @query(products, index="GSI1", rate=Rate(50, 500))
    def products_of_category(self, category: str, limit: int | None = None) -> None:
        """The catalogue, by name."""

    @batch_write(products, rate=Rate(0.01))
    def load_products(self, products: Iterable[Product]) -> None:
        """A new catalogue."""

    @update(orders, "SET status = :status", condition="status <> :status", rate=Rate(2))
    def set_status(
        self, customer_id: str, placed_at: datetime, order_id: str, status: Status
    ) -> None:
        """Move an order on; it moves on in the index as well."""

    @transact(
        "an order without its lines and its stock would be wrong",
        Step("create", "order"),
        Step("create", "line", each="lines"),
        Step(
            "update",
            "product",
            update="SET stock = stock - :quantity",
            condition="stock >= :quantity",
            each="taken",
            message="not enough in stock",
        ),
        rate=Rate(1, 20),
    )
    def place_order(
        self, order: Order, lines: list[Line], taken: list[dict[str, Any]], token: str = ""
    ) -> None:
        """Write an order with its lines and take the products from the stock."""


def order_products(shop: Shop, order: Order, lines: list[Line]) -> None:
    """Place an order; TransactionFailed names the product that is short."""
    taken = [{"product_id": line.product_id, "quantity": line.quantity} for line in lines]
    shop.place_order(order, lines, taken)
