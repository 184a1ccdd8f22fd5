"""Two transactions that applications write again and again: a transfer, an order with inventory.

Both raise TransactionFailed, whose reasons say in words which step could not be carried out.
`AsyncTransactionManager` is the same on a client of aiobotocore.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, final

from hashrange.toolkit.client.async_driver import AsyncDriver
from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.plans import Plan
from hashrange.toolkit.client.retries import DEFAULT_POLICY, RetryPolicy
from hashrange.toolkit.client.transactions import Transaction
from hashrange.toolkit.design.templates import iso_text, parse_template
from hashrange.toolkit.errors import DesignError
from hashrange.toolkit.execution.executor import utc_now


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where items of one kind are: the table, and the templates of its key attributes."""

    table: str
    keys: Mapping[str, str]

    def key(self, **fields: Any) -> dict[str, Any]:
        return {name: parse_template(text).render(fields) for name, text in self.keys.items()}


ACCOUNTS: Final = Place("Accounts", {"PK": "ACCOUNT#{id}"})
TRANSACTIONS: Final = Place("Transactions", {"PK": "TXN#{id}", "SK": "TXN#{id}"})
ORDERS: Final = Place("Orders", {"PK": "ORDER#{id}"})
INVENTORY: Final = Place("Inventory", {"PK": "PRODUCT#{id}"})


class TransactionPlans:
    """The plans of transfers and orders, for any driver. The places say where the items are."""

    def __init__(
        self,
        places: Mapping[str, Place] | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._places = {
            "accounts": ACCOUNTS,
            "transactions": TRANSACTIONS,
            "orders": ORDERS,
            "inventory": INVENTORY,
            **(places or {}),
        }
        self._policy = policy
        self._clock = clock

    def transfer_plan(
        self, from_account: str, to_account: str, amount: int | Decimal, transfer_id: str
    ) -> Plan[None]:
        """The plan of a transfer."""
        if amount <= 0:
            raise DesignError("only a positive amount can be transferred")
        if from_account == to_account:
            raise DesignError("an account cannot transfer to itself")
        accounts, records = self._places["accounts"], self._places["transactions"]
        now = iso_text(self._clock())
        values = {"amount": amount, "now": now}
        transaction = Transaction(policy=self._policy)
        transaction.update(
            accounts.table,
            accounts.key(id=from_account),
            "SET balance = balance - :amount, lastModified = :now",
            condition="balance >= :amount",
            values=values,
            message="insufficient funds, or no such account",
        )
        transaction.update(
            accounts.table,
            accounts.key(id=to_account),
            "SET balance = balance + :amount, lastModified = :now",
            condition="attribute_exists(balance)",
            values=values,
            message="there is no account to transfer to",
        )
        record = {
            **records.key(id=transfer_id),
            "fromAccount": from_account,
            "toAccount": to_account,
            "amount": amount,
            "timestamp": now,
            "status": "COMPLETED",
        }
        name = next(iter(records.keys))
        transaction.put(
            records.table,
            record,
            condition=f"attribute_not_exists(#{name})",
            message="this transfer was made already",
        )
        return transaction.plan()

    def order_plan(
        self, order_id: str, order: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
    ) -> Plan[None]:
        """The plan of an order."""
        orders, inventory = self._places["orders"], self._places["inventory"]
        quantities: dict[str, int | Decimal] = {}
        for line in lines:
            product = str(line["productId"])
            quantities[product] = quantities.get(product, 0) + line["quantity"]
        if any(quantity <= 0 for quantity in quantities.values()):
            raise DesignError("only positive quantities can be ordered")
        transaction = Transaction(policy=self._policy)
        name = next(iter(orders.keys))
        transaction.put(
            orders.table,
            {**order, **orders.key(id=order_id)},
            condition=f"attribute_not_exists(#{name})",
            message="this order exists already",
        )
        for product, quantity in quantities.items():
            transaction.update(
                inventory.table,
                inventory.key(id=product),
                "SET quantity = quantity - :quantity",
                condition="quantity >= :quantity",
                values={"quantity": quantity},
                message=f"not enough of product {product}",
            )
        return transaction.plan()


@final
class TransactionManager(TransactionPlans):
    """Transfers and orders, on a boto3 client."""

    def __init__(
        self,
        client: Any,
        *,
        places: Mapping[str, Place] | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(places, policy, clock)
        self._driver = client if isinstance(client, SyncDriver) else SyncDriver(client)

    def transfer(
        self, from_account: str, to_account: str, amount: int | Decimal, transfer_id: str = ""
    ) -> str:
        """Move an amount from one account to another; return the id of the transfer.

        With the same `transfer_id`, a transfer happens at most once.
        """
        identity = transfer_id or str(uuid.uuid4())
        self._driver.run(self.transfer_plan(from_account, to_account, amount, identity))
        return identity

    def order(
        self, order_id: str, order: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write an order and take its products from the inventory, all or nothing.

        Each line has `productId` and `quantity`; lines of the same product are added up.
        """
        self._driver.run(self.order_plan(order_id, order, lines))


@final
class AsyncTransactionManager(TransactionPlans):
    """Transfers and orders, awaited, on a client of aiobotocore; see TransactionManager."""

    def __init__(
        self,
        client: Any,
        *,
        places: Mapping[str, Place] | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(places, policy, clock)
        self._driver = client if isinstance(client, AsyncDriver) else AsyncDriver(client)

    async def transfer(
        self, from_account: str, to_account: str, amount: int | Decimal, transfer_id: str = ""
    ) -> str:
        """Move an amount from one account to another; return the id of the transfer."""
        identity = transfer_id or str(uuid.uuid4())
        await self._driver.run(self.transfer_plan(from_account, to_account, amount, identity))
        return identity

    async def order(
        self, order_id: str, order: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write an order and take its products from the inventory, all or nothing."""
        await self._driver.run(self.order_plan(order_id, order, lines))
