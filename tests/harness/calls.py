"""Requests to a database in this process, through its whole pipeline but no socket."""

from typing import Any

from hashrange.api.operation import Context
from hashrange.api.scope import IN_PROCESS, RequestScope
from hashrange.app.database import Database
from hashrange.wire.auth.accounts import root_caller
from hashrange.wire.http.messages import JSON_1_0, Head, HttpAnswer, HttpRequest

STREAMS = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}


def authorization(service: str = "dynamodb", key: str = "local", region: str = "us-east-1") -> str:
    """Return the header of a well-formed signature that nobody verifies."""
    return (
        f"AWS4-HMAC-SHA256 Credential={key}/20260101/{region}/{service}/aws4_request, "
        f"SignedHeaders=host;x-amz-date;x-amz-target, Signature={'0' * 64}"
    )


def json_request(target: str, body: bytes, **headers: str) -> HttpRequest:
    """Return a signed request to an operation by its target; headers given replace its own."""
    given = {
        "x_amz_target": target,
        "content_type": JSON_1_0.decode(),
        "x_amz_date": "20260101T000000Z",
        "authorization": authorization(),
    } | headers
    named = {name.replace("_", "-").encode(): text.encode() for name, text in given.items()}
    return HttpRequest(Head(b"POST", b"/", named), body, keep_alive=True)


async def answer(database: Database, operation: str, body: bytes) -> HttpAnswer:
    """Have a database answer a request."""
    service = "DynamoDBStreams" if operation in STREAMS else "DynamoDB"
    return await database.answer(json_request(f"{service}_20120810.{operation}", body))


def scope_in(context: Context) -> RequestScope:
    """Return the scope of a request that was authenticated in a context."""
    scope = RequestScope(b"REQUESTID", IN_PROCESS, b"")
    scope.caller = root_caller("local", context.account, context.region, "dynamodb")
    scope.context = context
    return scope


def units_of(scope: RequestScope) -> dict[tuple[str, str | None], tuple[float, float]]:
    """Return the read and write units of a scope, added up by table and index."""
    sums: dict[tuple[str, str | None], Any] = {}
    for table, index, read, write in scope.consumed:
        before = sums.get((table, index), (0.0, 0.0))
        sums[table, index] = (before[0] + read, before[1] + write)
    return sums
