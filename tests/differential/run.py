"""Rounds of random requests to both servers; what differs is grouped, made small and reported."""

import collections
import dataclasses
import re
from random import Random
from typing import Any

from tests.differential import explained, removals, streams, table_requests, tables
from tests.differential.comparison import (
    Answer,
    ask,
    canonical,
    difference,
    kind_of,
)
from tests.differential.minimise import minimise
from tests.differential.requests import Generator, Request
from tests.differential.tables import Table
from tests.differential.values import Item
from tests.harness.endpoint import Endpoint

ROUND_REQUESTS = 500
ROUND_TABLES = 5
ITEMS_AT_FIRST = 14
CONTROL_SHARE = 0.04
ORDER_BY = re.compile(r'ORDER BY "(\w+)"')
# Parts of a table description which hold times, names of the installation or sizes counted late.
VOLATILE = frozenset(
    (
        *("CreationDateTime", "LastUpdateToPayPerRequestDateTime", "TableArn", "TableId"),
        *("IndexArn", "ItemCount", "TableSizeBytes", "IndexSizeBytes", "NumberOfDecreasesToday"),
        *("LastIncreaseDateTime", "LastDecreaseDateTime", "TableStatus", "IndexStatus"),
    )
)


@dataclasses.dataclass
class Finding:
    """One kind of difference, with its first example made small."""

    kind: str
    sentence: str
    operation: str
    body: Any
    before: Any
    table: dict[str, Any] | None
    seen: int = 1


@dataclasses.dataclass
class Report:
    requests: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    succeeded: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    explained: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    findings: dict[str, Finding] = dataclasses.field(default_factory=dict)


class Run:
    """Sends requests to DynamoDB Local and to us."""

    def __init__(self, local: Endpoint, ours: Endpoint, seed: str, only: str | None = None):
        self.local = local
        self.ours = ours
        self.random = Random(seed)
        self.only = only
        self.report = Report()
        self.rounds = 0
        # Sort key attributes by table and index.
        self.sorts: dict[tuple[str, str], str | None] = {}
        self.followers = (streams.Follower(local), streams.Follower(ours))

    def round(self, count: int) -> None:
        """Make fresh tables and send this many requests."""
        self.rounds += 1
        prefix = f"diff_{self.random.getrandbits(32):08x}_{self.rounds}"
        found = [
            tables.draw_table(self.random, f"{prefix}_{i}", is_composite=i > 0)
            for i in range(ROUND_TABLES)
        ]
        for table in found:
            self.create(table)
        generator = Generator(self.random, found)
        for _ in range(count):
            if self.random.random() < CONTROL_SHARE and not self.only:
                self.control(found, prefix)
            else:
                self.step(generator.draw(self.only))
        for table in found:
            self.check_states(table)
            for endpoint in (self.local, self.ours):
                endpoint.call("DeleteTable", {"TableName": table.name})

    def create(self, table: Table) -> None:
        stream = streams.draw_specification(self.random)
        request = {**table.request(), "StreamSpecification": stream}
        for endpoint in (self.local, self.ours):
            reply = endpoint.call("CreateTable", request)
            if reply.status != 200:
                raise RuntimeError(f"{endpoint.url} refuses {request}: {reply.message}")
            endpoint.wait_active(table.name)
        for index in table.indexes:
            self.sorts[table.name, index.name] = index.key.sort
        for _ in range(ITEMS_AT_FIRST):
            item = tables.draw_item(self.random, table)
            self.step(Request("PutItem", {"TableName": table.name, "Item": item}, [table]))

    def step(self, request: Request) -> None:
        """Send one request to both and note how the answers compare."""
        operation, body = request.operation, request.body
        self.make_present(request)
        before = None if request.is_read() else self.item_before(request)
        local, ours = self.ask_both(operation, body)
        self.report.requests[operation] += 1
        self.report.succeeded[operation] += local.reply.status == 200
        self.remember_start_keys(request, local)
        sentence = self.compare(operation, body, (local, ours))
        if sentence:
            self.note(request, sentence, before)
        if request.is_read():
            return
        is_apart = sentence or local.reply.status != ours.reply.status
        if is_apart:
            for table in request.tables:
                self.make_equal(table)
        added = streams.stream_difference(*self.followers, request.tables)
        if added and not is_apart:
            self.note(request, added, before)
            streams.stream_difference(*self.followers, request.tables)

    def make_present(self, request: Request) -> None:
        """Make the items that updates would only take something away from."""
        for update in removals.updates_of(request.operation, request.body):
            if not removals.only_takes_away(update):
                continue
            name, key = update.get("TableName"), update.get("Key")
            condition = "attribute_not_exists(#p)"
            for table in request.tables:
                if table.name == name and isinstance(key, dict):
                    put = {"TableName": name, "Item": key, "ConditionExpression": condition}
                    put["ExpressionAttributeNames"] = {"#p": table.key.partition}
                    for endpoint in (self.local, self.ours):
                        endpoint.call("PutItem", put)

    def ask_both(self, operation: str, body: Any) -> tuple[Answer, Answer]:
        answers = ask(self.local, operation, body), ask(self.ours, operation, body)
        if operation == "Query":
            for answer in answers:
                answer.sort = self.sorts.get(
                    (str(body.get("TableName")), str(body.get("IndexName")))
                )
        order = ORDER_BY.search(str(body.get("Statement"))) if isinstance(body, dict) else None
        if order and "Limit" not in body:
            for answer in answers:
                answer.sort = order.group(1)
        return answers

    def compare(
        self, operation: str, body: Any, answers: tuple[Answer, Answer], is_counted: bool = True
    ) -> str | None:
        """Return how two answers differ beyond what is explained."""
        if difference(operation, body, *answers) is None:
            return None
        case, names = explained.adjusted(explained.Case(operation, body, *answers))
        sentence = difference(operation, body, case.local, case.ours)
        if sentence:
            rule = explained.explain(case)
            names = [rule.name] if rule else []
        if is_counted:
            self.report.explained.update(names)
        return None if names else sentence

    def note(self, request: Request, sentence: str, before: Item | None) -> None:
        """Keep the first example of a kind, made small, and count the others."""
        kind = kind_of(request.operation, sentence)
        if kind in self.report.findings:
            self.report.findings[kind].seen += 1
            return
        body = request.body
        if request.is_read() or request.operation in ("PutItem", "UpdateItem", "DeleteItem"):
            body = minimise(body, lambda candidate: self.differs(request, candidate, kind, before))
            answers = self.ask_again(request, body, before)
            sentence = self.compare(request.operation, body, answers, False) or sentence
        schema = request.tables[0].request() if request.tables else None
        self.report.findings[kind] = Finding(
            kind, sentence, request.operation, body, before, schema
        )

    def ask_again(self, request: Request, body: Any, before: Item | None) -> tuple[Answer, Answer]:
        """Ask with the item as it was before the first time."""
        if not request.is_read():
            table = request.tables[0]
            key = table.key_of(before or request.body.get("Key") or request.body.get("Item") or {})
            for endpoint in (self.local, self.ours):
                name = {"TableName": table.name}
                if before:
                    endpoint.call("PutItem", {**name, "Item": before})
                else:
                    endpoint.call("DeleteItem", {**name, "Key": key})
        return self.ask_both(request.operation, body)

    def differs(self, request: Request, body: Any, kind: str, before: Item | None) -> bool:
        answers = self.ask_again(request, body, before)
        sentence = self.compare(request.operation, body, answers, False)
        return sentence is not None and kind_of(request.operation, sentence) == kind

    def item_before(self, request: Request) -> Item | None:
        """Return the item a single write is about to change."""
        key = request.body.get("Key") or request.body.get("Item")
        if not isinstance(key, dict):
            return None
        table = request.tables[0]
        reply = self.local.call(
            "GetItem",
            {"TableName": table.name, "Key": table.key_of(key), "ConsistentRead": True},
        )
        found: Item | None = reply.body.get("Item") if isinstance(reply.body, dict) else None
        return found

    def remember_start_keys(self, request: Request, local: Answer) -> None:
        if request.operation != "Query" or local.reply.status != 200:
            return
        table = request.tables[0]
        known = table.start_keys.setdefault(request.body.get("IndexName") or "", [])
        for page in local.pages:
            if "LastEvaluatedKey" in page and len(known) < 40:
                known.append(page["LastEvaluatedKey"])

    def items_by_key(self, endpoint: Endpoint, table: Table) -> dict[str, Item]:
        pages = ask(endpoint, "Scan", {"TableName": table.name, "ConsistentRead": True}).pages
        items = [item for page in pages for item in page["Items"]]
        return {repr(sorted(table.key_of(item).items())): item for item in items}

    def make_equal(self, table: Table) -> None:
        """Copy DynamoDB Local's items to our table after a write went different ways."""
        theirs = self.items_by_key(self.local, table)
        mine = self.items_by_key(self.ours, table)
        for key in {*theirs, *mine}:
            if canonical(theirs.get(key)) == canonical(mine.get(key)):
                continue
            if key in theirs:
                self.ours.call("PutItem", {"TableName": table.name, "Item": theirs[key]})
            else:
                request = {"TableName": table.name, "Key": table.key_of(mine[key])}
                self.ours.call("DeleteItem", request)

    def check_states(self, table: Table) -> None:
        """Compare all items and index entries at the end of a round."""
        for index in (None, *(index.name for index in table.indexes)):
            body = {"TableName": table.name, **({"IndexName": index} if index else {})}
            self.step(Request("Scan", body, [table]))

    def control(self, found: list[Table], prefix: str) -> None:
        """Send a control-plane request; a table made on either side goes away again."""
        fresh = f"{prefix}_c{self.random.getrandbits(24):06x}"
        if self.random.random() < 0.6:
            operation, body = "CreateTable", table_requests.draw_create_table(self.random, fresh)
        else:
            operation, body = table_requests.draw_table_request(self.random, found)
        self.report.requests[operation] += 1
        answers = self.ask_both(operation, body)
        local, ours = (strip_volatile(answer) for answer in answers)
        self.report.succeeded[operation] += local.reply.status == 200
        name = body.get("TableName")
        if operation == "CreateTable" and isinstance(name, str):
            existing = {table.name for table in found}
            for answer, endpoint in zip(answers, (self.local, self.ours), strict=True):
                if answer.reply.status == 200 and name not in existing:
                    endpoint.wait_active(name)
                    endpoint.call("DeleteTable", {"TableName": name})
        sentence = self.compare(operation, body, (local, ours))
        if sentence:
            self.note(Request(operation, body, []), sentence, None)


def strip_volatile(answer: Answer) -> Answer:
    """Return an answer without what cannot be the same on two servers."""
    reply = dataclasses.replace(answer.reply, body=strip(answer.reply.body))
    return Answer(reply, answer.pages)


def strip(node: Any) -> Any:
    if isinstance(node, dict):
        return {k: strip(v) for k, v in node.items() if k not in VOLATILE}
    if isinstance(node, list):
        found = [strip(child) for child in node]
        return sorted(found, key=repr) if all(isinstance(c, dict) for c in found) else found
    return node
