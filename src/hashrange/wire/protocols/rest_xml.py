"""REST-XML: operations by method and path, XML documents; S3 has its own form of errors."""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.errors import ClientError
from hashrange.wire.http.messages import XML, HttpAnswer
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.error_forms import ErrorForm
from hashrange.wire.protocols.query import wrapped_error
from hashrange.wire.protocols.rest_bindings import RestRouting, read_parameters, write_result
from hashrange.wire.protocols.rest_routes import path_of
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel, Shape
from hashrange.wire.protocols.xml_document import DECLARATION, escape, read_document
from hashrange.wire.protocols.xml_values import read_element, write_element

_S3: Final = "s3"
_S3_NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
# What S3 answers to an operation it does not know.
_S3_UNKNOWN: Final = ("NotImplemented", "A header you provided implies functionality that is not "
                      "implemented", 501)  # fmt: skip


@final
class RestXml:
    """The codec of REST-XML."""

    name = "rest-xml"

    def __init__(self) -> None:
        self._routing = RestRouting()

    def locate(self, call: Call, model: ServiceModel) -> str:
        return self._routing.locate(call, model)

    def read(self, call: Call, operation: OperationModel) -> dict[str, Any]:
        return read_parameters(call, operation, _read_document)

    def write(self, call: Call, result: dict[str, Any], request_id: str) -> HttpAnswer:
        assert call.model is not None
        namespace = call.model.namespace or (_S3_NAMESPACE if _is_s3(call) else "")
        return write_result(call, result, XML, _DocumentWriter(namespace).write)

    def refuse(self, call: Call, error: ClientError, request_id: str) -> HttpAnswer:
        form = ErrorForm(error, call.model)
        if not _is_s3(call):
            unknown = form.code == "UnknownOperationException"
            status = 404 if unknown else form.query_status
            namespace = call.model.namespace if call.model is not None else ""
            return HttpAnswer(status, wrapped_error(form, namespace, request_id), XML)
        if form.code == "UnknownOperationException":
            form.query_code, form.message, form.query_status = _S3_UNKNOWN
        body = (
            f"{DECLARATION}<Error><Code>{escape(form.query_code)}</Code>"
            f"<Message>{escape(form.message)}</Message>"
            f"<Resource>{escape(path_of(call.request))}</Resource>"
            f"<RequestId>{escape(request_id)}</RequestId></Error>"
        )
        return HttpAnswer(form.query_status, body.encode(), XML)


def _is_s3(call: Call) -> bool:
    """Tell whether a call is for S3; it is the only service without a model that gets here."""
    return call.service is None or call.service.name == _S3


def _read_document(shape: Shape, body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = read_element(shape, read_document(body))
    return found


@final
class _DocumentWriter:
    """Writes documents whose root is in the name space of the service."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def write(self, shape: Shape, name: str, value: Any) -> bytes:
        out: list[str] = []
        write_element(shape, name, value, out)
        if self._namespace and "xmlns=" not in out[0]:
            out[0] = out[0].replace(name, f'{name} xmlns="{escape(self._namespace)}"', 1)
        return (DECLARATION + "".join(out)).encode()
