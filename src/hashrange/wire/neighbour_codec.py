"""Takes calls of neighbour services through the request pipeline."""

from __future__ import annotations

from typing import final

from hashrange.api.operation import Request, Response
from hashrange.api.scope import RequestScope
from hashrange.errors import ClientError
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.services import Call, Neighbours, Service, signing_service


@final
class _NeighbourOperation:
    """The operation of one call, as the pipeline sees it."""

    __slots__ = ("_call", "_neighbours", "name", "service")

    def __init__(self, neighbours: Neighbours, call: Call, service: Service) -> None:
        self._neighbours = neighbours
        self._call = call
        self.name = call.operation
        self.service = service

    def check(self, request: Request) -> None:
        """Check the parameters against the constraints of the service's model."""
        self._neighbours.check(self._call)

    def check_values(self, request: Request) -> None:
        """Do nothing: reading the parameters has checked their types."""

    async def run(self, scope: RequestScope, request: Request) -> Response:
        return await self._neighbours.run(self._call, scope)


@final
class NeighbourCodec:
    """The codec of one call: its protocol, service and operation were found from its address."""

    __slots__ = ("_call", "_neighbours")

    def __init__(self, neighbours: Neighbours, call: Call) -> None:
        self._neighbours = neighbours
        self._call = call

    async def decode(
        self, request: HttpRequest, scope: RequestScope
    ) -> tuple[_NeighbourOperation, Request]:
        """Return the operation and its parameters; the first call of a service loads its model."""
        call = self._call
        service = call.service
        scope.service = "" if service is None else service.name
        scope.operation = call.operation
        await self._neighbours.identify(call)
        assert service is not None
        scope.operation = call.operation
        self._neighbours.read(call)
        return _NeighbourOperation(self._neighbours, call, service), call.parameters

    def encode(self, request: HttpRequest, scope: RequestScope, response: Response) -> HttpAnswer:
        """Return the answer of an operation that succeeded."""
        return self._neighbours.encode(self._call, response, scope.request_id)

    def encode_error(
        self, request: HttpRequest, scope: RequestScope, error: ClientError
    ) -> HttpAnswer:
        """Return the error in the form of the call's protocol."""
        return self._neighbours.encode(self._call, error, scope.request_id)


def find_call(neighbours: Neighbours, request: HttpRequest) -> NeighbourCodec | None:
    """Return the codec of a request to a neighbour service, None for any other request."""
    call = neighbours.find(request, signing_service(request))
    return None if call is None else NeighbourCodec(neighbours, call)
