"""Authenticates requests to neighbour services and has the dispatcher carry them out."""

from __future__ import annotations

from typing import Any, final

from hashrange.api.operation import Context, Operation
from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.errors import ClientError
from hashrange.wire.auth.identity import Identity
from hashrange.wire.auth.sigv4 import Authenticator
from hashrange.wire.dispatch import Dispatcher
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.services import Call, Neighbours, Result, signing_service


@final
class CallScope:
    """What the handler of a call may know about its request."""

    __slots__ = (
        "access_key",
        "account",
        "clock",
        "engine",
        "operation",
        "principal_arn",
        "region",
        "request_id",
        "service",
        "source_address",
    )

    def __init__(self, call: Call, context: Context, access_key: str, request_id: str) -> None:
        assert call.service is not None
        self.account = context.account
        self.region = context.region
        self.access_key = access_key
        # All access keys are those of their account's root user.
        self.principal_arn = f"arn:aws:iam::{context.account}:root"
        self.request_id = request_id
        self.source_address = ""
        self.service = call.service.name
        self.operation = call.operation
        self.clock: Clock = context.clock
        self.engine: Engine = context.engine


@final
class _NoShape:
    """Parameters that were validated by the model need no other check."""

    members: dict[str, object] = {}  # noqa: RUF012  # never changed

    def check(self, request: dict[str, Any]) -> None: ...

    def check_values(self, request: dict[str, Any]) -> None: ...


@final
class NeighbourCalls:
    """Answers the calls of neighbour services; one per server process."""

    def __init__(
        self, neighbours: Neighbours, dispatcher: Dispatcher, authenticator: Authenticator
    ) -> None:
        self._neighbours = neighbours
        self._dispatcher = dispatcher
        self._authenticator = authenticator

    def find(self, request: HttpRequest) -> Call | None:
        """Return the call that a request is, or None if it is not for a neighbour."""
        return self._neighbours.find(request, signing_service(request))

    async def answer(self, call: Call, request_id: bytes) -> HttpAnswer:
        """Return the answer to a call; raises nothing."""
        id_text = request_id.decode()
        try:
            await self._neighbours.identify(call)
            assert call.service is not None
            identity = self._authenticator.authenticate_for(call.request, call.service.signing_name)
            self._neighbours.read(call)
            self._neighbours.check(call)
        except ClientError as error:
            return self._neighbours.encode(call, error, id_text)
        outcome = await self._perform(call, identity, request_id)
        return self._neighbours.encode(call, outcome, id_text)

    async def _perform(
        self, call: Call, identity: Identity, request_id: bytes
    ) -> Result | ClientError:
        async def run(context: Context, parameters: dict[str, Any]) -> Result:
            scope = CallScope(call, context, identity.access_key, request_id.decode())
            return await self._neighbours.run(call, scope)

        operation = Operation(call.operation, _NoShape(), run)
        return await self._dispatcher.perform(operation, call.parameters, identity, request_id)
