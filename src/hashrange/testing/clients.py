"""boto3 clients that reach a database in this process.

Requests are answered at botocore's `before-call` event: after boto3 has checked and serialized
them, before anything is signed or sent. Parameter checks, parsing and exceptions stay botocore's,
with a shortcut for plain items (`plain_items`).

Making a botocore client takes milliseconds, so clients made here without options go back to a pool
when their database ends, and belong to the next one.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final, final

import boto3
import botocore.session
from botocore.awsrequest import AWSResponse

from hashrange.testing.database import LocalDatabase
from hashrange.testing.plain_items import PlainItemParser, quicken_clients

EVENTS: Final = ("before-call.dynamodb", "before-call.dynamodb-streams")
SERVICES: Final = ("dynamodb", "dynamodbstreams")
DUMMY_KEY: Final = "testing"
_SESSIONS_MAX: Final = 8
_POOL_MAX: Final = 64

EnvironmentKey = frozenset[tuple[str, str]]
"""All that the environment tells botocore; a session made in one does not suit another."""

_lock = threading.RLock()
_parser = PlainItemParser()
_sessions: dict[EnvironmentKey, Any] = {}
_pool: list[Holder] = []


@final
class Holder:
    """A client or resource, and the database it belongs to at present."""

    def __init__(self, kind: str, service: str, options: dict[str, Any]) -> None:
        self.key = (kind, service, environment_key())
        self.is_plain = not options
        self.database: LocalDatabase | None = None
        make = getattr(own_session(), kind)
        self.content = make(service, **options)
        client = self.content.meta.client if kind == "resource" else self.content
        for event in EVENTS:
            client.meta.events.register_first(event, self._answer)

    def _answer(self, model: Any, params: Any, request_signer: Any, **_: object) -> object:
        if self.database is None:
            raise RuntimeError("the hashrange.testing.local() of this client has ended")
        return reply(self.database, model, params, request_signer)


def take(database: LocalDatabase, kind: str, service: str, options: dict[str, Any]) -> Holder:
    """Return a holder of a client or resource for a database, a used one if it will do."""
    holder = None if options else _take_free((kind, service, environment_key()))
    holder = holder or Holder(kind, service, options)
    holder.database = database
    return holder


def _take_free(key: tuple[str, str, EnvironmentKey]) -> Holder | None:
    with _lock:
        for position, holder in enumerate(_pool):
            if holder.key == key:
                return _pool.pop(position)
    return None


def give_back(holder: Holder) -> None:
    """Return a holder to the pool."""
    holder.database = None
    if holder.is_plain:
        with _lock:
            _pool.append(holder)
            del _pool[:-_POOL_MAX]


def reply(
    database: LocalDatabase, model: Any, params: dict[str, Any], request_signer: Any
) -> tuple[AWSResponse, dict[str, Any]]:
    """Answer a serialized request as botocore's endpoint would: response and parsed response."""
    # Nothing is signed, so the access key, which names the account, is not in the request.
    credentials = getattr(request_signer, "_credentials", None)
    status, document = database.answer(
        params["headers"]["X-Amz-Target"],
        params["body"],
        credentials.access_key if credentials else DUMMY_KEY,
        request_signer.region_name,
    )
    headers = {
        "content-type": params["headers"]["Content-Type"],
        "content-length": str(len(document)),
        "x-amzn-requestid": os.urandom(26).hex().upper(),
    }
    response = {"status_code": status, "headers": headers, "body": document}
    service_model = model.service_model
    parsed: dict[str, Any] = _parser.parse(response, model.output_shape)
    if status >= 300:
        shape = service_model.shape_for_error_code(parsed["Error"]["Code"])
        if shape is not None:
            parsed.update(_parser.parse(response, shape))
    parsed["ResponseMetadata"]["RetryAttempts"] = 0
    return AWSResponse(params["url"], status, headers, None), parsed


def own_session() -> Any:
    """Return a boto3 session for the environment as it is now; all share the models they load."""
    key = environment_key()
    with _lock:
        session = _sessions.get(key)
        if session is None:
            core = botocore.session.Session()
            if _sessions:
                loaded = next(iter(_sessions.values()))._session
                core.register_component("data_loader", loaded.get_component("data_loader"))
            if len(_sessions) >= _SESSIONS_MAX:
                _sessions.clear()
            session = _sessions[key] = boto3.Session(botocore_session=core)
            quicken_clients(session.events)
        return session


def environment_key() -> EnvironmentKey:
    return frozenset(pair for pair in os.environ.items() if pair[0].startswith("AWS_"))
