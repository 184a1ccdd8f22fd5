"""Random requests of the data plane over a few tables whose items they mostly meet."""

import dataclasses
from random import Random
from typing import Any

from tests.differential import legacy, mutations, statements, tables, values
from tests.differential.expressions import (
    Terms,
    draw_condition,
    draw_key_condition,
    draw_projection,
    draw_update,
)
from tests.differential.tables import Index, Table
from tests.differential.values import Item

SUBTLY_WRONG = 0.08
BROKEN = 0.05


@dataclasses.dataclass
class Request:
    """One request, and the tables it may change."""

    operation: str
    body: dict[str, Any]
    tables: list[Table]

    def is_read(self) -> bool:
        is_select = str(self.body.get("Statement")).startswith("SELECT")
        return self.operation in READS or is_select


READS = frozenset(("GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"))


class Generator:
    """Writes requests; every choice comes from one seeded source."""

    def __init__(self, random: Random, found: list[Table]):
        self.random = random
        self.tables = found
        self._tokens: list[str] = []
        self._kinds = {
            "PutItem": (self.put_item, 16),
            "UpdateItem": (self.update_item, 24),
            "DeleteItem": (self.delete_item, 7),
            "GetItem": (self.get_item, 8),
            "Query": (self.query, 22),
            "Scan": (self.scan, 10),
            "BatchGetItem": (self.batch_get, 4),
            "BatchWriteItem": (self.batch_write, 4),
            "TransactGetItems": (self.transact_get, 3),
            "TransactWriteItems": (self.transact_write, 6),
            "ExecuteStatement": (self.execute, 14),
        }

    def draw(self, only: str | None = None) -> Request:
        """Return the next request."""
        names = [only] if only else list(self._kinds)
        weights = [self._kinds[name][1] for name in names]
        name = self.random.choices(names, weights)[0]
        found = self._kinds[name][0]()
        request = Request(name, *found)
        if self.chance(BROKEN):
            request.body = mutations.mutate_request(self.random, request.body)
        return request

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def table(self) -> Table:
        return self.random.choice(self.tables)

    def key(self, table: Table) -> Item:
        """Return a primary key, wrong in one of fifty cases."""
        key = tables.draw_table_key(self.random, table.key)
        if self.chance(0.02):
            name = self.random.choice(table.key.names())
            match self.random.randrange(4):
                case 0:
                    del key[name]
                case 1:
                    key[name] = values.draw_value(self.random)
                case 2:
                    key["s"] = {"S": "extra"}
                case _:
                    key[name] = self.random.choice(({"S": ""}, {"B": ""}, {"N": "1e200"}))
        return key

    def item(self, table: Table) -> Item:
        item = tables.draw_item(self.random, table)
        if self.chance(0.03):
            name = self.random.choice(sorted(item))
            item[name] = values.draw_bad_value(self.random)
        if self.chance(0.01):
            item.pop(self.random.choice(table.key.names()), None)
        return item

    def terms(self, table: Table) -> Terms:
        return Terms(self.random, tuple(table.key.names()))

    def text(self, terms: Terms, tokens: list[str]) -> str:
        """Return an expression's text, at times damaged."""
        if self.chance(SUBTLY_WRONG):
            tokens = mutations.mutate_tokens(terms, tokens)
        return " ".join(tokens)

    def extras(self, body: dict[str, Any], *names: str) -> None:
        """Add some of the optional parameters."""
        choices = {
            "ReturnConsumedCapacity": ("TOTAL", "INDEXES", "INDEXES", "NONE"),
            "ReturnItemCollectionMetrics": ("SIZE", "NONE"),
            "ReturnValuesOnConditionCheckFailure": ("ALL_OLD", "ALL_OLD", "NONE"),
            "ConsistentRead": (True, False),
        }
        for name in names:
            if self.chance(0.4):
                body[name] = self.random.choice(choices[name])

    def return_values(self, body: dict[str, Any], *usual: str) -> None:
        every = ("NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
        if self.chance(0.7):
            body["ReturnValues"] = self.random.choice(usual if self.chance(0.96) else every)

    def condition(self, body: dict[str, Any], terms: Terms, share: float = 0.45) -> None:
        """Add a condition, in the old form now and then, hardly ever beside an expression."""
        if self.chance(share):
            body["ConditionExpression"] = self.text(terms, draw_condition(terms))
        elif self.chance(0.15 if "UpdateExpression" not in body else 0.01):
            body["Expected"] = legacy.draw_expected(self.random)
            if self.chance(0.4):
                body["ConditionalOperator"] = self.random.choice(("AND", "OR"))
        elif self.chance(0.01):
            body["ConditionalOperator"] = "AND"

    def put_item(self) -> tuple[dict[str, Any], list[Table]]:
        table, body = self.begin()
        body["Item"] = self.item(table)
        terms = self.terms(table)
        self.condition(body, terms)
        body.update(terms.parameters())
        self.return_values(body, "NONE", "ALL_OLD", "ALL_OLD")
        self.write_extras(body)
        return body, [table]

    def begin(self) -> tuple[Table, dict[str, Any]]:
        table = self.table()
        return table, {"TableName": table.name if self.chance(0.995) else "absent"}

    def write_extras(self, body: dict[str, Any]) -> None:
        self.extras(
            body,
            "ReturnConsumedCapacity",
            "ReturnItemCollectionMetrics",
            "ReturnValuesOnConditionCheckFailure",
        )

    def delete_item(self) -> tuple[dict[str, Any], list[Table]]:
        table, body = self.begin()
        body["Key"] = self.key(table)
        terms = self.terms(table)
        self.condition(body, terms, 0.6)
        body.update(terms.parameters())
        self.return_values(body, "NONE", "ALL_OLD", "ALL_OLD")
        self.write_extras(body)
        return body, [table]

    def update_item(self) -> tuple[dict[str, Any], list[Table]]:
        table, body = self.begin()
        body["Key"] = self.key(table)
        terms = self.terms(table)
        if self.chance(0.15):
            body["AttributeUpdates"] = legacy.draw_attribute_updates(self.random)
            if self.chance(0.3):
                body["Expected"] = legacy.draw_expected(self.random)
        else:
            if self.chance(0.97):
                body["UpdateExpression"] = self.text(terms, draw_update(terms))
            self.condition(body, terms, 0.25)
        body.update(terms.parameters())
        self.return_values(body, "NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW")
        self.write_extras(body)
        return body, [table]

    def projection(self, body: dict[str, Any], terms: Terms, share: float = 0.35) -> None:
        is_legacy = any(name in body for name in ("KeyConditions", "ScanFilter"))
        if self.chance(share if not is_legacy else 0.02):
            body["ProjectionExpression"] = self.text(terms, draw_projection(terms))
        elif self.chance(0.06 if not terms.values else 0.005):
            names = sorted(values.ATTRIBUTES)
            body["AttributesToGet"] = self.random.sample(names, self.random.randint(1, 3))

    def get_item(self) -> tuple[dict[str, Any], list[Table]]:
        table, body = self.begin()
        body["Key"] = self.key(table)
        terms = self.terms(table)
        self.projection(body, terms)
        body.update(terms.parameters())
        self.extras(body, "ReturnConsumedCapacity", "ConsistentRead")
        return body, [table]

    def index(self, table: Table, body: dict[str, Any]) -> Index | None:
        if not table.indexes or self.chance(0.45):
            return None
        index = self.random.choice(table.indexes)
        body["IndexName"] = index.name if self.chance(0.99) else "absent"
        return index

    def read_extras(self, table: Table, index: Index | None, body: dict[str, Any]) -> None:
        """Add what Query and Scan share."""
        self.extras(body, "ReturnConsumedCapacity")
        if self.chance(0.35) and (not index or index.is_local or self.chance(0.05)):
            body["ConsistentRead"] = self.chance(0.5)
        if self.chance(0.5):
            body["Limit"] = self.random.choice((1, 1, 2, 3, 5, 100) if self.chance(0.98) else (0,))
        if self.chance(0.12):
            choices = ("COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES")
            body["Select"] = self.random.choices(choices, (5, 3, 2, 2))[0]
        known = table.start_keys.get(index.name if index else "", [])
        if known and self.chance(0.15):
            body["ExclusiveStartKey"] = self.random.choice(known)
        elif self.chance(0.01):
            body["ExclusiveStartKey"] = self.key(table)

    def query(self) -> tuple[dict[str, Any], list[Table]]:
        table, body = self.begin()
        index = self.index(table, body)
        key = index.key if index else table.key
        terms = self.terms(table)
        if self.chance(0.12):
            body["KeyConditions"] = legacy.draw_key_conditions(self.random, key)
            if self.chance(0.4):
                body["QueryFilter"] = legacy.draw_filter(self.random)
                if self.chance(0.4):
                    body["ConditionalOperator"] = self.random.choice(("AND", "OR"))
        else:
            body["KeyConditionExpression"] = self.text(terms, draw_key_condition(terms, key))
            if self.chance(0.4):
                if not self.chance(0.05):
                    names = {*table.key.names(), *key.names()}
                    terms.attributes = tuple(a for a in terms.attributes if a not in names)
                body["FilterExpression"] = self.text(terms, draw_condition(terms))
                terms.attributes = self.terms(table).attributes
        self.projection(body, terms, 0.25)
        body.update(terms.parameters())
        if self.chance(0.5):
            body["ScanIndexForward"] = self.chance(0.4)
        self.read_extras(table, index, body)
        return body, [table]

    def scan(self) -> tuple[dict[str, Any], list[Table]]:
        table, body = self.begin()
        index = self.index(table, body)
        terms = self.terms(table)
        if self.chance(0.12):
            body["ScanFilter"] = legacy.draw_filter(self.random)
            if self.chance(0.4):
                body["ConditionalOperator"] = self.random.choice(("AND", "OR"))
        elif self.chance(0.65):
            body["FilterExpression"] = self.text(terms, draw_condition(terms))
        self.projection(body, terms, 0.25)
        body.update(terms.parameters())
        self.read_extras(table, index, body)
        body.pop("ExclusiveStartKey", None)
        if self.chance(0.1):
            total = self.random.choice((1, 2, 3, 7))
            body["TotalSegments"] = total
            body["Segment"] = self.random.randrange(total) if self.chance(0.95) else total
        return body, [table]

    def batch_get(self) -> tuple[dict[str, Any], list[Table]]:
        chosen = self.random.sample(self.tables, min(len(self.tables), self.random.randint(1, 2)))
        wanted = {}
        for table in chosen:
            keys = [self.key(table) for _ in range(self.random.randint(1, 6))]
            if not self.chance(0.05):
                keys = [key for i, key in enumerate(keys) if key not in keys[:i]]
            part: dict[str, Any] = {"Keys": keys}
            terms = self.terms(table)
            self.projection(part, terms, 0.3)
            part.update(terms.parameters())
            self.extras(part, "ConsistentRead")
            wanted[table.name] = part
        body: dict[str, Any] = {"RequestItems": wanted}
        self.extras(body, "ReturnConsumedCapacity")
        return body, chosen

    def batch_write(self) -> tuple[dict[str, Any], list[Table]]:
        chosen = self.random.sample(self.tables, min(len(self.tables), self.random.randint(1, 2)))
        wanted: dict[str, Any] = {}
        for table in chosen:
            seen: list[Item] = []
            actions: list[dict[str, Any]] = []
            for _ in range(self.random.randint(1, 6)):
                item = self.item(table)
                key = table.key_of(item)
                if key in seen and not self.chance(0.03):
                    continue
                seen.append(key)
                is_put = self.chance(0.65)
                action = (
                    {"PutRequest": {"Item": item}} if is_put else {"DeleteRequest": {"Key": key}}
                )
                actions.append(action)
            wanted[table.name] = actions
        body: dict[str, Any] = {"RequestItems": wanted}
        self.extras(body, "ReturnConsumedCapacity", "ReturnItemCollectionMetrics")
        return body, chosen

    def execute(self) -> tuple[dict[str, Any], list[Table]]:
        table = self.table()
        return statements.draw_execute(self.random, table), [table]

    def transact_get(self) -> tuple[dict[str, Any], list[Table]]:
        gets = []
        for _ in range(self.random.randint(1, 5)):
            table, body = self.begin()
            body["Key"] = self.key(table)
            terms = self.terms(table)
            if self.chance(0.4):
                body["ProjectionExpression"] = self.text(terms, draw_projection(terms))
            body.update(terms.parameters())
            gets.append({"Get": body})
        found: dict[str, Any] = {"TransactItems": gets}
        self.extras(found, "ReturnConsumedCapacity")
        return found, list(self.tables)

    def transact_write(self) -> tuple[dict[str, Any], list[Table]]:
        actions: list[dict[str, Any]] = []
        seen: list[Any] = []
        for _ in range(self.random.randint(1, 5)):
            action = self.transact_action()
            (body,) = action.values()
            key = body["Key"] if "Key" in body else body["Item"]
            target = [body["TableName"], key.get("p"), key.get("r")]
            if target in seen and not self.chance(0.05):
                continue
            seen.append(target)
            actions.append(action)
        found: dict[str, Any] = {"TransactItems": actions}
        self.extras(found, "ReturnConsumedCapacity", "ReturnItemCollectionMetrics")
        return found, list(self.tables)

    def transact_action(self) -> dict[str, Any]:
        table, body = self.begin()
        terms = self.terms(table)
        kind = self.random.choice(("Put", "Update", "Update", "Delete", "ConditionCheck"))
        if kind == "Put":
            body["Item"] = self.item(table)
        else:
            body["Key"] = self.key(table)
        if kind == "Update":
            body["UpdateExpression"] = self.text(terms, draw_update(terms))
        if kind == "ConditionCheck" or self.chance(0.3):
            body["ConditionExpression"] = self.text(terms, draw_condition(terms))
        body.update(terms.parameters())
        self.extras(body, "ReturnValuesOnConditionCheckFailure")
        return {kind: body}
