"""Do two answers to one request agree?

Order counts where DynamoDB promises one (query results, transaction reads) and not elsewhere (sets,
batch answers, scans). Paged reads are walked to their end on both sides: pages of a query over a
table must agree one by one; where the order of equal keys or of partitions is free, the whole must.
A query over an index is in the order of its sort keys, among equal ones in any.
"""

import dataclasses
import itertools
import json
import re
from typing import Any

from tests.harness.endpoint import Endpoint, Reply

PAGES_MAX = 300
PAGED = ("Query", "Scan", "ExecuteStatement")
UNORDERED = frozenset(("SS", "NS", "BS"))
PLACEHOLDER = re.compile(r"""'[^']*'|"[^"]*"|\[[^\]]*\]|\{[^}]*\}|[:#][nv]\d+|-?\d+(\.\d+)?""")


@dataclasses.dataclass
class Answer:
    """The reply to a request, and for paged reads all pages that follow."""

    reply: Reply
    pages: list[dict[str, Any]]
    # The sort key attribute of the index that a query reads.
    sort: str | None = None


def ask(endpoint: Endpoint, operation: str, body: Any) -> Answer:
    """Send a request and walk its pages."""
    first = endpoint.call(operation, body)
    pages = [first.body] if first.status == 200 else []
    if first.status != 200 or operation not in PAGED:
        return Answer(first, pages)
    if operation == "ExecuteStatement":
        return walk(endpoint, operation, body, Answer(first, pages))
    for request in scans_of(body):
        reply = first if request == body else endpoint.call(operation, request)
        if request != body:
            pages.append(reply.body)
        while isinstance(reply.body, dict) and reply.body.get("LastEvaluatedKey"):
            if len(pages) > PAGES_MAX:
                return Answer(Reply(reply.status, "EndlessPages", "", reply.body), pages)
            following = {**request, "ExclusiveStartKey": reply.body["LastEvaluatedKey"]}
            reply = endpoint.call(operation, following)
            pages.append(reply.body)
            if reply.status != 200:
                return Answer(reply, pages)
    return Answer(first, pages)


def walk(endpoint: Endpoint, operation: str, body: dict[str, Any], answer: Answer) -> Answer:
    """Follow the NextTokens of a statement."""
    reply = answer.reply
    while reply.status == 200 and reply.body.get("NextToken"):
        if len(answer.pages) > PAGES_MAX:
            return Answer(Reply(reply.status, "EndlessPages", "", reply.body), answer.pages)
        reply = endpoint.call(operation, {**body, "NextToken": reply.body["NextToken"]})
        answer.pages.append(reply.body)
    return answer if reply.status == 200 else Answer(reply, answer.pages)


def scans_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a request for every segment of a parallel scan, the asked one first."""
    total = body.get("TotalSegments")
    if not isinstance(total, int) or total < 2:
        return [body]
    others = [n for n in range(total) if n != body.get("Segment")]
    return [body, *({**body, "Segment": n} for n in others)]


def canonical(node: Any) -> Any:
    """Return a body with sets sorted."""
    if isinstance(node, list):
        return [canonical(child) for child in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for key, child in node.items():
        if key in UNORDERED and isinstance(child, list) and all(isinstance(c, str) for c in child):
            found[key] = sorted(child)
        elif key == "ConsumedCapacity" and isinstance(child, list):
            found[key] = sorted((canonical(c) for c in child), key=as_text)
        else:
            found[key] = canonical(child)
    return found


def as_text(node: Any) -> str:
    return json.dumps(node, sort_keys=True)


def unordered(nodes: list[Any]) -> list[Any]:
    return sorted(nodes, key=as_text)


def totals(answer: Answer) -> dict[str, Any]:
    """Return what all pages say together, regardless of the order of equal sort keys."""
    pages = answer.pages
    items = [item for page in pages for item in page.get("Items", [])]
    runs = [list(run) for _, run in itertools.groupby(items, lambda item: item.get(answer.sort))]
    found: dict[str, Any] = {
        "Items": [item for run in runs for item in unordered(canonical(run))],
        "Count": sum(page.get("Count", 0) for page in pages),
        "ScannedCount": sum(page.get("ScannedCount", 0) for page in pages),
    }
    if len(pages) == 1:
        found["ConsumedCapacity"] = pages[0].get("ConsumedCapacity")
    return found


def comparable(operation: str, body: dict[str, Any], answer: Answer) -> Any:
    """Return that part of a successful answer which must agree."""
    if operation == "Scan" or (operation == "Query" and body.get("IndexName")):
        return totals(answer)
    if operation == "ExecuteStatement":
        return totals(answer)["Items"]
    if operation == "Query":
        return canonical(answer.pages)
    found = canonical(answer.reply.body)
    if operation == "BatchGetItem":
        found["Responses"] = {k: unordered(v) for k, v in found.get("Responses", {}).items()}
    return found


def first_difference(left: Any, right: Any, path: str = "") -> str | None:
    """Return where two bodies part, as a path without table and attribute names."""
    if type(left) is not type(right) and not (
        isinstance(left, int | float) and isinstance(right, int | float)
    ):
        return f"{path}: {brief(left)} | {brief(right)}"
    if isinstance(left, dict):
        for key in sorted({*left, *right}):
            if (key in left) != (key in right):
                return f"{path}.{key}: {'only Local' if key in left else 'only ours'}"
            found = first_difference(left[key], right[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(left, list):
        if len(left) != len(right):
            return f"{path}: {len(left)} | {len(right)} elements"
        pairs = enumerate(zip(left, right, strict=True))
        differences = (first_difference(a, b, f"{path}[{i}]") for i, (a, b) in pairs)
        return next((found for found in differences if found), None)
    return None if left == right else f"{path}: {brief(left)} | {brief(right)}"


def brief(node: Any) -> str:
    text = json.dumps(node, ensure_ascii=False)
    return text if len(text) < 80 else text[:77] + "..."


def difference(operation: str, body: dict[str, Any], local: Answer, ours: Answer) -> str | None:
    """Return a sentence on how two answers differ, None if they agree."""
    left, right = local.reply, ours.reply
    if (left.status, left.error, left.message) != (right.status, right.error, right.message):
        return f"Local {outcome(left)} | ours {outcome(right)}"
    if left.status != 200:
        strip = ("__type", "message", "Message")
        bodies = [
            canonical({k: v for k, v in reply.body.items() if k not in strip})
            for reply in (left, right)
        ]
        return first_difference(bodies[0], bodies[1], left.error)
    pair = [comparable(operation, body, answer) for answer in (local, ours)]
    return first_difference(pair[0], pair[1])


def outcome(reply: Reply) -> str:
    """Return status, type and message of a reply in one line."""
    return f"{reply.status} {reply.error}: {reply.message}" if reply.error else str(reply.status)


def kind_of(operation: str, sentence: str) -> str:
    """Return what groups differences of one cause: the sentence without its particulars."""
    return f"{operation}: {PLACEHOLDER.sub('_', sentence)}"
