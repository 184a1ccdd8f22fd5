"""What a protocol codec does, and the call it does it for."""

from __future__ import annotations

from typing import Any, Protocol, final

from hashrange.errors import ClientError
from hashrange.neighbours.service import Service
from hashrange.wire.http.messages import HttpAnswer, HttpRequest
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel


@final
class Call:
    """One request to a neighbour service: found by its address, then read by its codec.

    `service` is None if this server has no such service; such a call can only be refused.
    `operation` is the name the client gave, "" as long as only the model can tell (REST).
    `model`, `operation_model` and `parameters` are there once the call was identified and read.
    """

    __slots__ = (
        "body",
        "codec",
        "form",
        "labels",
        "model",
        "operation",
        "operation_model",
        "parameters",
        "refusal",
        "request",
        "service",
    )

    def __init__(
        self, codec: Codec, service: Service | None, operation: str, request: HttpRequest
    ) -> None:
        self.codec = codec
        self.service = service
        self.operation = operation
        self.request = request
        # The body without its compression.
        self.body = request.body
        # Why the call cannot be read at all, if that was found already.
        self.refusal: ClientError | None = None
        # The fields of a query request, which had to be read to find the service.
        self.form: dict[str, str] = {}
        # The parts of the path of a REST request, which had to be read to find the operation.
        self.labels: dict[str, str] = {}
        self.model: ServiceModel | None = None
        self.operation_model: OperationModel | None = None
        self.parameters: dict[str, Any] = {}

    @property
    def needs_signature(self) -> bool:
        """Whether the operation is for signed requests only; all but a few of STS are."""
        return self.operation_model is None or self.operation_model.auth_type != "none"

    @property
    def is_query_mode(self) -> bool:
        """Whether the client wants the error codes of the query protocol, too."""
        return (
            self.model is not None
            and self.model.is_query_compatible
            and self.request.headers.get(b"x-amzn-query-mode", b"").lower() == b"true"
        )


class Codec(Protocol):
    """One protocol; holds nothing of a single call. `name` is botocore's name of it."""

    @property
    def name(self) -> str: ...

    def locate(self, call: Call, model: ServiceModel) -> str:
        """Return the name of the operation that is called, "" if there is none.

        Keeps in the call what it has to read for that.
        """
        ...

    def read(self, call: Call, operation: OperationModel) -> dict[str, Any]:
        """Return the parameters of a call."""
        ...

    def write(self, call: Call, result: dict[str, Any], request_id: str) -> HttpAnswer:
        """Return the answer with a result."""
        ...

    def refuse(self, call: Call, error: ClientError, request_id: str) -> HttpAnswer:
        """Return the answer with an error."""
        ...
