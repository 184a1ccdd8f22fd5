"""Hashrange inside a test: boto3 on a fresh database in this process, with no server and no port.

    with hashrange.testing.local() as db:
        db.client().create_table(...)
        code_under_test()          # its boto3.client("dynamodb") reaches the same database
        db.clock.advance(3600)

Which database answers: clients and resources made by `db` belong to it. All others in the process,
in any thread, reach the innermost `local()` under way, unless they were given an endpoint of their
own. Clients that were there before `local()` began are reached only if their session was told so
(`reach_session`), which the pytest plugin does for all. Afterwards everything is as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, final

import boto3
import botocore

from hashrange.clock import VirtualClock
from hashrange.storage.meters import Mode
from hashrange.testing import clients
from hashrange.testing.database import LocalDatabase
from hashrange.testing.environment import default_session, safe_environment
from hashrange.testing.faults import Faults
from hashrange.testing.plain_items import quicken_clients
from hashrange.testing.server import LocalServer, serve

__all__ = ["LocalDynamoDB", "LocalServer", "local", "reach_session", "serve"]

_HANDLER_ID: Final = "hashrange-testing"

_lock = threading.Lock()
_under_way: list[LocalDatabase] = []


@final
class LocalDynamoDB:
    """A database in this process: its clients and its clock."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database
        self._faults = Faults(database.replace_faults)
        self._taken: list[clients.Holder] = []

    @property
    def clock(self) -> VirtualClock:
        """The time the database knows; it stands still until it is moved."""
        return self._database.clock

    @property
    def faults(self) -> Faults:
        """The faults that requests meet; the database has to be made with `faults=True`."""
        return self._faults

    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """Return a boto3 client of this database; options as of `boto3.client`."""
        return self._take("client", service, options)

    def resource(self, **options: Any) -> Any:
        """Return a boto3 service resource of this database; options as of `boto3.resource`."""
        return self._take("resource", "dynamodb", options)

    def end(self) -> None:
        """Take the clients back; they refuse to work until they belong to another database."""
        for holder in self._taken:
            clients.give_back(holder)
        self._taken.clear()

    def _take(self, kind: str, service: str, options: dict[str, Any]) -> Any:
        if service not in clients.SERVICES:
            raise ValueError(f"Hashrange does not answer for {service!r}")
        holder = clients.take(self._database, kind, service, options)
        self._taken.append(holder)
        return holder.content


@contextmanager
def local(capacity: Mode = "off", *, faults: bool = False) -> Iterator[LocalDynamoDB]:
    """Answer boto3 from a fresh database for as long as the context lasts.

    `capacity` is what throttles requests, as the setting of the server; nothing unless asked for.
    With `faults`, the database's `faults` can have requests fail.
    """
    database = LocalDatabase(capacity, has_faults=faults)
    here = LocalDynamoDB(database)
    with safe_environment(), default_session(), _all_sessions():
        with _lock:
            _under_way.append(database)
        try:
            yield here
        finally:
            with _lock:
                _under_way.remove(database)
            here.end()


@contextmanager
def _all_sessions() -> Iterator[None]:
    """Reach the default session, and each session that is made meanwhile."""
    _reach(boto3.DEFAULT_SESSION.events)
    botocore.register_initializer(reach_session)
    try:
        yield
    finally:
        botocore.unregister_initializer(reach_session)


def reach_session(session: Any) -> None:
    """Let the clients a botocore session makes from now on reach a `local()` under way."""
    _reach(session.get_component("event_emitter"))


def _reach(events: Any) -> None:
    for event in clients.EVENTS:
        events.register(event, _answer, unique_id=f"{_HANDLER_ID}-{event}")
    quicken_clients(events)


def _answer(model: Any, params: Any, request_signer: Any, **_: object) -> object:
    """Answer from the innermost database, or leave the request to go its way."""
    with _lock:
        database = _under_way[-1] if _under_way else None
    if database is None or not _is_for_aws(params["url"]):
        return None
    return clients.reply(database, model, params, request_signer)


def _is_for_aws(url: str) -> bool:
    """Tell whether the client was left to find the service, not given an endpoint."""
    return ".amazonaws.com" in url or ".api.aws" in url
