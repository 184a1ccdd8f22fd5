"""AWS JSON 1.0 and 1.1: the operation in `X-Amz-Target`, a JSON object in each direction."""

from __future__ import annotations

from typing import Any, final

from hashrange.errors import ClientError
from hashrange.wire.http.messages import JSON_1_0, JSON_1_1, HttpAnswer
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.document_values import DocumentWriter, JsonReader, JsonWriter
from hashrange.wire.protocols.error_forms import ErrorForm, query_error_line
from hashrange.wire.protocols.json_codec import decode, encode
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel

_READER = JsonReader()
_WRITER = JsonWriter()


def error_document(form: ErrorForm, writer: DocumentWriter) -> dict[str, Any]:
    """Return the document of an error, in JSON or CBOR."""
    document: dict[str, Any] = {"__type": form.code}
    if form.members:
        assert form.shape is not None, f"{form.code} is not in the model but has members"
        document |= writer.write_structure(form.shape, form.members)
    if form.message:
        document[form.message_member] = form.message
    return document


@final
class AwsJson:
    """The codec of AWS JSON in both versions."""

    name = "json"

    def locate(self, call: Call, model: ServiceModel) -> str:
        return call.operation

    def read(self, call: Call, operation: OperationModel) -> dict[str, Any]:
        document = decode(call.body)
        if operation.input_shape is None:
            return {}
        parameters: dict[str, Any] = _READER.read_structure(operation.input_shape, document)
        return parameters

    def write(self, call: Call, result: dict[str, Any], request_id: str) -> HttpAnswer:
        assert call.operation_model is not None
        shape = call.operation_model.output_shape
        document = {} if shape is None else _WRITER.write_structure(shape, result)
        return HttpAnswer(200, encode(document), _content_type(call))

    def refuse(self, call: Call, error: ClientError, request_id: str) -> HttpAnswer:
        form = ErrorForm(error, call.model)
        body = encode(error_document(form, _WRITER))
        return HttpAnswer(form.status, body, _content_type(call), query_error_line(form, call))


def _content_type(call: Call) -> bytes:
    """Return the content type of the request, or the one of the service if it has none."""
    given = call.request.head.content_type
    if given is not None:
        return given
    return JSON_1_1 if call.model is not None and call.model.json_version == "1.1" else JSON_1_0
