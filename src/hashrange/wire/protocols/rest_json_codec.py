"""REST-JSON for neighbours: operations by method and path, JSON documents, errors in a header."""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.errors import ClientError
from hashrange.wire.http.messages import PLAIN_JSON, HttpAnswer
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.document_values import JsonReader, JsonWriter
from hashrange.wire.protocols.error_forms import ErrorForm
from hashrange.wire.protocols.json_codec import decode, encode
from hashrange.wire.protocols.rest_bindings import (
    RestRouting,
    header_line,
    read_parameters,
    write_result,
)
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel, Shape

_READER = JsonReader()
_WRITER = JsonWriter()
# Statuses of errors that are not in the model, where they are not 400.
_STATUSES: Final = {
    "AccessDeniedException": 403,
    "ExpiredTokenException": 403,
    "InvalidSignatureException": 403,
    "MissingAuthenticationTokenException": 403,
    "UnknownOperationException": 404,
    "UnrecognizedClientException": 403,
}


@final
class RestJsonCodec:
    """The codec of REST-JSON."""

    name = "rest-json"

    def __init__(self) -> None:
        self._routing = RestRouting()

    def locate(self, call: Call, model: ServiceModel) -> str:
        return self._routing.locate(call, model)

    def read(self, call: Call, operation: OperationModel) -> dict[str, Any]:
        return read_parameters(call, operation, _read_document)

    def write(self, call: Call, result: dict[str, Any], request_id: str) -> HttpAnswer:
        return write_result(call, result, PLAIN_JSON, _write_document)

    def refuse(self, call: Call, error: ClientError, request_id: str) -> HttpAnswer:
        form = ErrorForm(error, call.model)
        document: dict[str, Any] = {}
        if form.members:
            assert form.shape is not None, f"{form.code} is not in the model but has members"
            document = _WRITER.write_structure(form.shape, form.members)
        if form.message:
            document[form.message_member] = form.message
        status = form.status if form.shape is not None else _STATUSES.get(form.code, form.status)
        line = header_line("x-amzn-ErrorType", form.code)
        return HttpAnswer(status, encode(document), PLAIN_JSON, line)


def _read_document(shape: Shape, body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = _READER.read_structure(shape, decode(body))
    if shape.metadata.get("document"):
        return found
    return {
        name: value
        for name, value in found.items()
        if "location" not in shape.members[name].serialization
    }


def _write_document(shape: Shape, name: str, value: Any) -> bytes:
    return encode(_WRITER.write(shape, value))
