"""Clients that write all kinds of things to their own items and know what must have become of them.

A lane is one thread with one connection. It owns its items, so it always knows their state, except
for those of a request that was never answered: such a *doubt* holds the state before and after, of
all items of the request together, and the lane leaves these items alone until a check has settled
it. Shared counters are everybody's; what is known of them is a range.
"""

from __future__ import annotations

import random
import threading
from typing import Any

from tests.faults.served import Connection, NoAnswerError

Item = dict[str, dict[str, Any]]
ItemKey = tuple[str, str]  # table, and the sort key in THINGS or the id in PAIRS
State = dict[ItemKey, Item | None]

THINGS, PAIRS = "things", "pairs"
ITEMS_PER_LANE = 40
COUNTERS = ("counter/0", "counter/1")
_GROUPS = ("red", "green", "blue", "ça va")
_ABSENT = "attribute_not_exists(id) AND attribute_not_exists(pk)"


class Doubt:
    """A request without an answer: its items are all as before, or all as after."""

    def __init__(self, before: State, after: State, transaction: dict[str, Any] | None) -> None:
        self.before = before
        self.after = after
        self.transaction = transaction
        self.is_done = False  # when it was sent again, and answered


class Counts:
    """What is known of the counters that all lanes share."""

    def __init__(self) -> None:
        self.acknowledged = dict.fromkeys(COUNTERS, 0)
        self.unanswered = dict.fromkeys(COUNTERS, 0)
        self._lock = threading.Lock()

    def note(self, counter: str, *, answered: bool) -> None:
        with self._lock:
            (self.acknowledged if answered else self.unanswered)[counter] += 1

    def settle(self, counter: str, count: int) -> None:
        """Hold the counter's value against what is known, and know it from now on."""
        least = self.acknowledged[counter]
        assert least <= count <= least + self.unanswered[counter], f"{counter} is wrong"
        self.acknowledged[counter], self.unanswered[counter] = count, 0


class Lane:
    """One client; `run` it in a thread, then `settle` it against what the tables hold."""

    def __init__(self, number: int, port: int, counts: Counts, dice: random.Random) -> None:
        self.state: State = {}
        self.doubts: list[Doubt] = []
        self.acknowledged = 0
        self.failures: list[str] = []
        self.name = f"lane{number}"
        self.counts = counts
        self._dice = dice
        self._connection = Connection(port)
        self._transactions: list[dict[str, Any]] = []
        self._tokens = 0

    def key_item(self, key: ItemKey) -> Item:
        """Return the key attributes of one of its items."""
        table, name = key
        if table == THINGS:
            return {"pk": {"S": self.name}, "sk": {"S": name}}
        return {"id": {"S": f"{self.name}/{name}"}}

    def run(self, stop: threading.Event) -> None:
        """Write until told to stop."""
        acts = (
            self._put,
            self._put,
            self._update,
            self._update,
            self._delete,
            self._put_if_absent,
            self._count,
            self._batch,
            self._transact,
            self._transact,
            self._fail_to_transact,
        )
        try:
            while not stop.is_set():
                if self._dice.random() < 0.05:
                    self._connection.close()
                try:
                    self._dice.choice(acts)()
                except ConnectionError:
                    stop.wait(0.01)  # nobody listens at the moment
        except Exception as error:  # noqa: BLE001 - the test reports it
            self.failures.append(f"{self.name}: {type(error).__name__}: {error}")
        finally:
            self._connection.close()

    def repeat_transactions(self) -> None:
        """Send transactions again with their tokens: done once already, or done now."""
        for doubt in self.doubts:
            if doubt.transaction is not None:
                self._connection.result("TransactWriteItems", **doubt.transaction)
                doubt.is_done = True
        for transaction in self._transactions:
            self._connection.result("TransactWriteItems", **transaction)
        self._transactions.clear()
        self._connection.close()

    def settle(self, found: State) -> tuple[int, int]:
        """Hold what the tables hold against what must be there; return doubts and those done."""
        done = 0
        for doubt in self.doubts:
            actual = {key: found.get(key) for key in doubt.before}
            allowed = (doubt.after,) if doubt.is_done else (doubt.before, doubt.after)
            assert actual in allowed, (
                f"{self.name}: neither as before nor as after:\n{actual}\n{doubt.after}"
            )
            done += actual != doubt.before
            self.state.update(actual)
        expected = {key: item for key, item in self.state.items() if item is not None}
        lost = [key for key in expected if key not in found]
        assert not lost, f"{self.name}: acknowledged items are missing: {lost}"
        assert found == expected, f"{self.name}: items are not as acknowledged"
        count, self.doubts = len(self.doubts), []
        return count, done

    # The requests.

    def _put(self) -> None:
        key = self._any_key()
        item = self._random_item(key)
        self._write("PutItem", {"TableName": key[0], "Item": item}, {key: item})

    def _put_if_absent(self) -> None:
        key = self._any_key()
        before, item = self.state.get(key), self._random_item(key)
        request = {"TableName": key[0], "Item": item, "ConditionExpression": _ABSENT}
        if before is None:
            self._write("PutItem", request, {key: item})
        else:
            self._write("PutItem", request, {key: before}, "ConditionalCheckFailedException")

    def _update(self) -> None:
        key = self._any_key()
        request, after = self._random_update(key)
        self._write("UpdateItem", request, {key: after})

    def _delete(self) -> None:
        key = self._any_key()
        request = {"TableName": key[0], "Key": self.key_item(key)}
        self._write("DeleteItem", request, {key: None})

    def _batch(self) -> None:
        after: State = {}
        requests: dict[str, list[dict[str, Any]]] = {}
        for key in self._keys(self._dice.randrange(2, 8)):
            item = self._random_item(key) if self._dice.random() < 0.7 else None
            request = (
                {"DeleteRequest": {"Key": self.key_item(key)}}
                if item is None
                else {"PutRequest": {"Item": item}}
            )
            requests.setdefault(key[0], []).append(request)
            after[key] = item
        self._write("BatchWriteItem", {"RequestItems": requests}, after)

    def _transact(self) -> None:
        actions, after = self._random_actions()
        transaction = {"TransactItems": actions, "ClientRequestToken": self._token()}
        if self._write("TransactWriteItems", transaction, after):
            self._transactions = [*self._transactions[-3:], transaction]

    def _fail_to_transact(self) -> None:
        actions, after = self._random_actions()
        check = {
            "TableName": PAIRS,
            "Key": {"id": {"S": "never there"}},
            "ConditionExpression": "attribute_exists(id)",
        }
        actions.insert(self._dice.randrange(len(actions) + 1), {"ConditionCheck": check})
        unchanged = {key: self.state.get(key) for key in after}
        transaction = {"TransactItems": actions, "ClientRequestToken": self._token()}
        # A token of a cancelled transaction is not kept, so this one is not sent again.
        self._write("TransactWriteItems", transaction, unchanged, "TransactionCanceledException")

    def _count(self) -> None:
        counter = self._dice.choice(COUNTERS)
        request = {
            "TableName": PAIRS,
            "Key": {"id": {"S": counter}},
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        try:
            self._connection.result("UpdateItem", **request)
        except NoAnswerError:
            self.counts.note(counter, answered=False)
        else:
            self.counts.note(counter, answered=True)
            self.acknowledged += 1

    def _write(
        self, operation: str, request: dict[str, Any], after: State, refusal: str = ""
    ) -> bool:
        """Send a request and note what is known of its items then; tell whether it was done."""
        try:
            reply = self._connection.call(operation, request)
        except NoAnswerError:
            before = {key: self.state.get(key) for key in after}
            is_repeatable = operation == "TransactWriteItems" and not refusal
            self.doubts.append(Doubt(before, after, request if is_repeatable else None))
            return False
        assert reply.error == refusal, f"{operation}: {reply.error}: {reply.message}"
        self.state.update(after)
        self.acknowledged += not refusal
        return not refusal

    # What they are about.

    def _keys(self, count: int) -> list[ItemKey]:
        in_doubt = {key for doubt in self.doubts for key in doubt.before}
        keys = [
            (table, f"{number:02}")
            for table in (THINGS, PAIRS)
            for number in range(ITEMS_PER_LANE)
            if (table, f"{number:02}") not in in_doubt
        ]
        return self._dice.sample(keys, count)

    def _any_key(self) -> ItemKey:
        return self._keys(1)[0]

    def _random_item(self, key: ItemKey) -> Item:
        dice = self._dice
        item = self.key_item(key)
        if dice.random() < 0.7:
            item["group"] = {"S": dice.choice(_GROUPS)}
        if dice.random() < 0.7:
            item["rank"] = {"N": str(dice.randrange(-50, 50))}
        if dice.random() < 0.7:
            item["day"] = {"S": f"2026-01-{dice.randrange(1, 29):02}"}
        item["stamp"] = {"S": f"{dice.random()}"}
        item["text"] = {"S": "x" * dice.choice((0, 10, 500, 5000))}
        return item

    def _random_update(self, key: ItemKey) -> tuple[dict[str, Any], Item]:
        dice = self._dice
        after = {**(self.state.get(key) or self.key_item(key))}
        after["group"] = {"S": dice.choice(_GROUPS)}
        after["n"] = {"N": str(int(after.get("n", {"N": "0"})["N"]) + 1)}
        expression = "SET #g = :g ADD n :one"
        names = {"#g": "group"}
        if dice.random() < 0.5:
            expression += " REMOVE #d"
            names["#d"] = "day"
            after.pop("day", None)
        values = {":g": after["group"], ":one": {"N": "1"}}
        return {
            "TableName": key[0],
            "Key": self.key_item(key),
            "UpdateExpression": expression,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }, after

    def _random_actions(self) -> tuple[list[dict[str, Any]], State]:
        """Return a put, a delete and two updates, in either table, and what they lead to.

        The updates count, so that doing it all twice would be seen.
        """
        put, delete, *updates = self._keys(4)
        after: State = {put: self._random_item(put), delete: None}
        actions: list[dict[str, Any]] = [
            {"Put": {"TableName": put[0], "Item": after[put]}},
            {"Delete": {"TableName": delete[0], "Key": self.key_item(delete)}},
        ]
        for key in updates:
            request, after[key] = self._random_update(key)
            actions.append({"Update": request})
        self._dice.shuffle(actions)
        return actions, after

    def _token(self) -> str:
        self._tokens += 1
        return f"{self.name}-{self._dice.getrandbits(32):08x}-{self._tokens}"
