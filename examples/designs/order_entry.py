"""The order-entry schema of the AWS guide's relational-modelling example, and its access patterns.

The guide starts from a relational schema (employees, customers, orders, products, warehouses) and
a list of fifteen questions. As in its current version, entities that are not read together have
tables of their own; an order and its lines, a product and its stock are item collections.
"""

from dataclasses import dataclass
from datetime import date

from hashrange.toolkit import (
    Attribute,
    Entity,
    Index,
    KeyAttribute,
    Rate,
    Table,
    Volume,
    Waiver,
    at_least,
    begins_with,
    between,
)
from hashrange.toolkit.declarations import (
    DesignBase,
    batch_write,
    create,
    get,
    query,
    select,
    update,
)


@dataclass(frozen=True)
class Employee:
    """Somebody who works for the company."""

    employee_id: str
    name: str
    job_title: str
    warehouse_id: str
    hire_date: date
    phones: list[str]


@dataclass(frozen=True)
class Customer:
    """Somebody who orders, and the representative who takes care."""

    customer_id: str
    name: str
    phones: list[str]
    representative: str


@dataclass(frozen=True)
class Order:
    """An order. `open_month` is there until it is closed."""

    order_id: str
    customer_id: str
    representative: str
    order_date: date
    status: str
    total: int
    open_month: str | None = None


@dataclass(frozen=True)
class Line:
    """One product of an order."""

    order_id: str
    product_id: str
    order_date: date
    quantity: int


@dataclass(frozen=True)
class Product:
    """A product, with the sum of what all warehouses have."""

    product_id: str
    name: str
    total_stock: int


@dataclass(frozen=True)
class Stock:
    """How much of a product a warehouse has."""

    product_id: str
    warehouse_id: str
    quantity: int


@dataclass(frozen=True)
class Sales:
    """What a representative sold in a period."""

    period: str
    representative: str
    total: int


class OrderEntry(
    DesignBase,
    name="order-entry",
    style="multi_table",
    waivers=(
        Waiver(
            "key-monotonic",
            "a few hundred employees a year: one partition takes all of their writes",
            "index:Employees.ByHireDate",
        ),
    ),
):
    """Employees, customers, orders and products."""

    employees_table = Table(
        "Employees",
        "employee_id",
        indexes=(
            Index("ByName", "name", "employee_id", serves=("employees_by_name",)),
            Index(
                "ByWarehouse",
                "warehouse_id",
                "employee_id",
                projection="INCLUDE",
                include=("name", "job_title"),
                serves=("employees_of_warehouse",),
            ),
            Index(
                "ByTitle",
                "job_title",
                "employee_id",
                projection="INCLUDE",
                include=("name", "warehouse_id"),
                serves=("employees_with_title",),
            ),
            Index("ByHireDate", "hired", "hire_date", serves=("hired_since",)),
        ),
    )
    customers_table = Table(
        "Customers",
        "customer_id",
        indexes=(
            Index(
                "ByRepresentative",
                "representative",
                "customer_id",
                serves=("customers_of_representative",),
            ),
        ),
        encryption="managed",
    )
    orders_table = Table(
        "Orders",
        "PK",
        "SK",
        indexes=(
            Index("ByCustomer", "customer_id", "order_date", serves=("orders_of_customer",)),
            Index(
                "ByRepresentative",
                "representative",
                "order_date",
                serves=("orders_of_representative",),
            ),
            Index("Open", "open_key", "order_date", sparse=True, serves=("open_orders",)),
            Index("ByProduct", "product_id", "order_date", serves=("orders_of_product",)),
        ),
    )
    products_table = Table("Products", "PK", "SK")
    sales_table = Table(
        "Sales",
        "period",
        "representative",
        indexes=(
            Index(
                "ByTotal", "period", KeyAttribute("total", "N"), kind="local", serves=("ranking",)
            ),
        ),
    )

    employees = Entity(
        "employee",
        {"hired": "EMPLOYEE#{hire_date:%Y}"},
        Employee,
        table="Employees",
        volume=Volume(items=5_000, item_bytes=300),
    )
    customers = Entity(
        "customer",
        {},
        Customer,
        table="Customers",
        attributes=(Attribute("phones", "L", sensitive=True),),
        volume=Volume(items=100_000, item_bytes=300),
    )
    orders = Entity(
        "order",
        {
            "PK": "ORDER#{order_id}",
            "SK": "ORDER",
            "open_key": "OPEN#{open_month}#{order_id:shard 4}",
        },
        Order,
        table="Orders",
        volume=Volume(items=1_000_000, item_bytes=300),
    )
    lines = Entity(
        "line",
        {"PK": "ORDER#{order_id}", "SK": "LINE#{product_id}"},
        Line,
        table="Orders",
        volume=Volume(items=3_000_000, item_bytes=150, collection_items=3),
    )
    products = Entity(
        "product",
        {"PK": "PRODUCT#{product_id}", "SK": "PRODUCT"},
        Product,
        table="Products",
        volume=Volume(items=10_000, item_bytes=200),
    )
    stock = Entity(
        "stock",
        {"PK": "PRODUCT#{product_id}", "SK": "WAREHOUSE#{warehouse_id}"},
        Stock,
        table="Products",
        volume=Volume(items=100_000, item_bytes=100, collection_items=10),
    )
    sales = Entity("sales", {}, Sales, table="Sales", volume=Volume(items=20_000, item_bytes=100))

    @create(employees, rate=Rate(0.01))
    def hire(self, employee: Employee) -> None:
        """A new employee."""

    @get(employees, rate=Rate(1))
    def employee(self, employee_id: str) -> None:
        """1. Employee details by employee id."""

    @query(employees, index="ByName", rate=Rate(1))
    def employees_by_name(self, name: str) -> None:
        """2. Employee details by name."""

    @get(customers, rate=Rate(10))
    def customer(self, customer_id: str) -> None:
        """3. The phone numbers of a customer."""

    @query(
        orders,
        index="ByCustomer",
        sort_key=between("{first}", "{last}"),
        rate=Rate(5),
    )
    def orders_of_customer(self, customer_id: str, first: date, last: date) -> None:
        """4. The orders of a customer between two dates."""

    @query(orders, index="Open", sort_key=between("{first}", "{last}"), rate=Rate(1))
    def open_orders(self, open_month: str, first: date, last: date) -> None:
        """5. The open orders of all customers between two dates of a month."""

    @query(employees, index="ByHireDate", sort_key=at_least("{since}"), rate=Rate(0.1))
    def hired_since(self, hire_date: date, since: date) -> None:
        """6. The employees hired since a date, in the year of `hire_date`."""

    @select(employees, index="ByWarehouse", rate=Rate(1))
    def employees_of_warehouse(self, warehouse_id: str) -> None:
        """7. The employees of a warehouse."""

    @query(lines, index="ByProduct", newest_first=True, rate=Rate(1))
    def orders_of_product(self, product_id: str, limit: int | None = None) -> None:
        """8. All order lines of a product."""

    @query(stock, sort_key=begins_with("WAREHOUSE#"), rate=Rate(10))
    def stock_of_product(self, product_id: str) -> None:
        """9. The stock of a product in all warehouses."""

    @query(customers, index="ByRepresentative", rate=Rate(1))
    def customers_of_representative(self, representative: str) -> None:
        """10. The customers of a representative."""

    @query(orders, index="ByRepresentative", sort_key=between("{first}", "{last}"), rate=Rate(1))
    def orders_of_representative(self, representative: str, first: date, last: date) -> None:
        """11. The orders of a representative between two dates."""

    @select(employees, index="ByTitle", rate=Rate(0.1))
    def employees_with_title(self, job_title: str) -> None:
        """12. The employees with a job title."""

    @get(stock, rate=Rate(20))
    def stock_in_warehouse(self, product_id: str, warehouse_id: str) -> None:
        """13. The stock of a product in a warehouse."""

    @get(products, rate=Rate(50))
    def product(self, product_id: str) -> None:
        """14. The total stock of a product."""

    @query(sales, index="ByTotal", newest_first=True, limit=10, rate=Rate(0.1))
    def ranking(self, period: str, limit: int | None = None) -> None:
        """15. The representatives of a period, ranked by what they sold."""

    @create(customers, rate=Rate(0.1))
    def add_customer(self, customer: Customer) -> None:
        """A customer."""

    @create(orders, rate=Rate(5))
    def add_order(self, order: Order) -> None:
        """An order."""

    @batch_write(lines, rate=Rate(5))
    def save_lines(self, lines: list[Line]) -> None:
        """The lines of an order."""

    @update(orders, "SET status = :status REMOVE open_month", rate=Rate(5))
    def close_order(self, order_id: str, status: str) -> None:
        """Close an order: it leaves the index of open ones."""

    @create(products, rate=Rate(0.1))
    def add_product(self, product: Product) -> None:
        """A product."""

    @create(stock, rate=Rate(5))
    def add_stock(self, stock: Stock) -> None:
        """What a warehouse has."""

    @update(sales, "ADD total :amount", upsert=True, rate=Rate(5))
    def add_sale(self, period: str, representative: str, amount: int) -> None:
        """Add to what a representative sold."""
