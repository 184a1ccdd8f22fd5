"""Smithy RPC v2 CBOR: service and operation in the path, a CBOR map in each direction."""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.errors import ClientError, SerializationException
from hashrange.wire.http.messages import HttpAnswer
from hashrange.wire.protocols import cbor
from hashrange.wire.protocols.aws_json import error_document
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.document_values import CborReader, CborWriter
from hashrange.wire.protocols.error_forms import ErrorForm, query_error_line
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel

CBOR: Final = b"application/cbor"
# Clients fail if the answer does not repeat it.
_PROTOCOL_LINE: Final = b"smithy-protocol: rpc-v2-cbor\r\n"
_UNKNOWN_STATUS: Final = 404

_READER = CborReader()
_WRITER = CborWriter()


@final
class RpcCbor:
    """The codec of Smithy RPC v2 CBOR."""

    name = "smithy-rpc-v2-cbor"

    def locate(self, call: Call, model: ServiceModel) -> str:
        return call.operation

    def read(self, call: Call, operation: OperationModel) -> dict[str, Any]:
        document = cbor.decode(call.body) if call.body else {}
        if not isinstance(document, dict):
            raise SerializationException("Unexpected value type in payload")
        if operation.input_shape is None:
            return {}
        parameters: dict[str, Any] = _READER.read_structure(operation.input_shape, document)
        return parameters

    def write(self, call: Call, result: dict[str, Any], request_id: str) -> HttpAnswer:
        assert call.operation_model is not None
        shape = call.operation_model.output_shape
        document = {} if shape is None else _WRITER.write_structure(shape, result)
        return HttpAnswer(200, cbor.encode(document), CBOR, _PROTOCOL_LINE)

    def refuse(self, call: Call, error: ClientError, request_id: str) -> HttpAnswer:
        form = ErrorForm(error, call.model)
        status = _UNKNOWN_STATUS if form.code == "UnknownOperationException" else form.status
        lines = _PROTOCOL_LINE + query_error_line(form, call)
        return HttpAnswer(status, cbor.encode(error_document(form, _WRITER)), CBOR, lines)
