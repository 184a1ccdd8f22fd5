"""What a neighbour service is: names to find it by, a table of operations, and its errors.

Handlers see parameters and results as botocore's shapes name them: timestamps are aware `datetime`
objects, blobs are `bytes`. No handler knows in which protocol it was called.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol, final

from hashrange.clock import Clock
from hashrange.engine.base import Engine
from hashrange.errors import ClientError
from hashrange.policies.evaluation import Grants

Parameters = dict[str, Any]
Result = dict[str, Any]


class Scope(Protocol):
    """What a handler may know about the request it answers."""

    @property
    def account(self) -> str: ...

    @property
    def region(self) -> str: ...

    @property
    def access_key(self) -> str: ...

    @property
    def principal_arn(self) -> str: ...

    @property
    def request_id(self) -> str: ...

    @property
    def source_address(self) -> str: ...

    @property
    def is_secure(self) -> bool: ...

    @property
    def grants(self) -> Grants | None: ...

    @property
    def service(self) -> str: ...

    @property
    def operation(self) -> str: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def engine(self) -> Engine: ...


Handler = Callable[[Scope, Parameters], Awaitable[Result]]


@final
class BodyStream:
    """The payload of a result that is sent piece by piece, its length, and the status to send."""

    __slots__ = ("chunks", "length", "status")

    def __init__(self, chunks: AsyncIterator[bytes], length: int, status: int = 200) -> None:
        self.chunks = chunks
        self.length = length
        self.status = status


@final
class Service:
    """One service, cheap to make: nothing is loaded before its first request.

    `name` is botocore's name of the service, `signing_name` the one in credential scopes.
    `api_version` and `target_prefix` route requests; they must be those of botocore's model.
    `rest` is the protocol of a service whose operations are found by path: rest-json or rest-xml.
    """

    __slots__ = (
        "_handlers",
        "_load",
        "api_version",
        "name",
        "rest",
        "signing_name",
        "target_prefix",
    )

    def __init__(
        self,
        name: str,
        handlers: Callable[[], Mapping[str, Handler]],
        *,
        api_version: str,
        signing_name: str = "",
        target_prefix: str = "",
        rest: str = "",
    ) -> None:
        self.name = name
        self.signing_name = signing_name or name
        self.api_version = api_version
        self.target_prefix = target_prefix
        self.rest = rest
        self._load = handlers
        self._handlers: Mapping[str, Handler] | None = None

    def handlers(self) -> Mapping[str, Handler]:
        """Return the operations that are served, by name; the first call imports them."""
        if self._handlers is None:
            self._handlers = self._load()
        return self._handlers


class ServiceError(ClientError):
    """An error of a neighbour, by the name of its shape in the model, such as `InvalidNextToken`.

    The status, the code that query clients see, and whose fault it is come from the model. `status`
    and `is_sender` are for errors that the model does not list.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        status: int = 0,
        is_sender: bool = True,
        members: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message, members)
        self._code = code
        self.status = status or (400 if is_sender else 500)
        self.has_status = status != 0
        self.is_sender = is_sender

    @property
    def code(self) -> str:
        return self._code
