"""Members bound to the path, the query, headers, the status or the payload of REST messages."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Final

import orjson

from hashrange.errors import SerializationException
from hashrange.neighbours.service import BodyStream
from hashrange.wire.http.messages import TEXT, HttpAnswer
from hashrange.wire.protocols import timestamps
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.document_values import wire_name
from hashrange.wire.protocols.rest_routes import Query, Routes, path_of, read_query
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel, Shape
from hashrange.wire.protocols.xml_values import read_scalar, scalar_text

_LIST_ITEM: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^,]*))\s*(?:,|$)')
# What may stand in a header line, so that a result cannot write lines of its own.
_NOT_PRINTABLE: Final = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_BINARY: Final = b"application/octet-stream"

ReadDocument = Callable[[Shape, bytes], dict[str, Any]]
WriteDocument = Callable[[Shape, str, Any], bytes]


class RestRouting:
    """The routes of all services of a protocol, made when a service is first called."""

    def __init__(self) -> None:
        self._routes: dict[str, Routes] = {}

    def locate(self, call: Call, model: ServiceModel) -> str:
        """Return the operation of a call, "" if no path matches."""
        routes = self._routes.get(model.service_id)
        if routes is None:
            routes = self._routes[model.service_id] = Routes(model)
        route = routes.find(call.request)
        if route is None:
            return ""
        call.labels = route.labels(path_of(call.request))
        return route.name


def read_parameters(
    call: Call, operation: OperationModel, read_document: ReadDocument
) -> dict[str, Any]:
    """Return the parameters from all parts of a request."""
    shape = operation.input_shape
    if shape is None:
        return {}
    query = read_query(call.request)
    payload = shape.serialization.get("payload")
    found: dict[str, Any] = {}
    if payload is None and call.body:
        found = read_document(shape, call.body)
    for name, member in shape.members.items():
        value = _bound_value(member, name, call, query)
        if name == payload:
            value = _read_payload(member, call.body, read_document)
        if value is not None:
            found[name] = value
    return found


def _bound_value(shape: Shape, name: str, call: Call, query: Query) -> Any:
    headers = call.request.headers
    location = shape.serialization.get("location")
    known = wire_name(shape, name)
    if location == "uri":
        return read_scalar(shape, call.labels[known]) if known in call.labels else None
    if location == "querystring":
        return _read_query_member(shape, known, query)
    if location == "header":
        given = headers.get(known.lower().encode())
        return None if given is None else _read_header(shape, given.decode("latin-1"))
    if location == "headers":
        start = known.lower().encode()
        found = {
            header[len(start) :].decode("latin-1"): value.decode("latin-1")
            for header, value in headers.items()
            if header.startswith(start) and len(header) > len(start)
        }
        return found or None
    return None


def _read_query_member(shape: Shape, known: str, query: Query) -> Any:
    if shape.type_name == "map":
        is_many = shape.value.type_name == "list"
        return {key: list(texts) if is_many else texts[0] for key, texts in query.items()} or None
    texts = query.get(known)
    if texts is None:
        return None
    if shape.type_name == "list":
        return [read_scalar(shape.member, text) for text in texts]
    return read_scalar(shape, texts[-1])


def _read_header(shape: Shape, text: str) -> Any:
    if shape.type_name == "list":
        if shape.member.type_name == "timestamp":
            # A date in the form of headers has a comma itself.
            pairs = text.split(",")
            dates = [",".join(pairs[start : start + 2]) for start in range(0, len(pairs), 2)]
            return [timestamps.read_text(date.strip()) for date in dates]
        return [read_scalar(shape.member, item) for item in _header_items(text)]
    if shape.serialization.get("jsonvalue"):
        try:
            return orjson.loads(b64decode(text, validate=True))
        except ValueError:
            raise SerializationException("A header is not JSON in base64") from None
    return read_scalar(shape, text)


def _header_items(text: str) -> list[str]:
    items = []
    position = 0
    while position < len(text):
        match = _LIST_ITEM.match(text, position)
        if match is None or match.end() == position:
            raise SerializationException("A header is not a valid list")
        quoted, plain = match.groups()
        items.append(plain.strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    return items


def _read_payload(shape: Shape, body: bytes, read_document: ReadDocument) -> Any:
    if shape.type_name == "blob":
        return body or None
    if shape.type_name == "string":
        try:
            return body.decode() or None
        except UnicodeDecodeError:
            raise SerializationException("The payload is not UTF-8") from None
    return read_document(shape, body) if body else None


def write_result(
    call: Call, result: dict[str, Any], content_type: bytes, write_document: WriteDocument
) -> HttpAnswer:
    """Return the answer with the members of a result where the model binds them."""
    operation = call.operation_model
    assert operation is not None
    shape = operation.output_shape
    answer = HttpAnswer(operation.http.get("responseCode", 200), b"", b"")
    if shape is None:
        return answer
    unbound = {}
    for name, value in result.items():
        member = shape.members[name]
        location = member.serialization.get("location")
        if value is None:
            continue
        if location == "statusCode":
            answer.status = value
        elif location in ("header", "headers"):
            _write_header(member, wire_name(member, name), value, answer)
        else:
            unbound[name] = value
    payload = shape.serialization.get("payload")
    if payload is None:
        if any("location" not in member.serialization for member in shape.members.values()):
            document = write_document(shape, f"{operation.name}Response", unbound)
            _set_body(answer, document, content_type)
    elif payload in unbound:
        member, value = shape.members[payload], unbound[payload]
        if isinstance(value, BodyStream):
            answer.pieces, answer.length, answer.status = value.chunks, value.length, value.status
            answer.content_type = answer.content_type or _BINARY
        elif member.type_name == "blob":
            _set_body(answer, value, _BINARY)
        elif member.type_name == "string":
            _set_body(answer, value.encode(), TEXT)
        else:
            _set_body(
                answer, write_document(member, wire_name(member, payload), value), content_type
            )
    return answer


def _set_body(answer: HttpAnswer, body: bytes, content_type: bytes) -> None:
    answer.body = body
    answer.content_type = answer.content_type or content_type


def _write_header(shape: Shape, known: str, value: Any, answer: HttpAnswer) -> None:
    if shape.type_name == "map":
        for key, item in value.items():
            answer.extra += header_line(known + key, item)
        return
    if shape.type_name == "list":
        text = ",".join(
            _quoted(scalar_text(shape.member, item, timestamps.HTTP_DATE)) for item in value
        )
    elif shape.serialization.get("jsonvalue"):
        text = b64encode(orjson.dumps(value)).decode()
    else:
        text = scalar_text(shape, value, timestamps.HTTP_DATE)
    if known.lower() == "content-length":
        answer.length = value
    elif known.lower() == "content-type":
        answer.content_type = text.encode("latin-1", "replace")
    else:
        answer.extra += header_line(known, text)


def header_line(name: str, text: str) -> bytes:
    """Return a header line; what may not stand in one becomes a question mark."""
    shown = _NOT_PRINTABLE.sub("?", f"{name}: {text}")
    return shown.encode("latin-1") + b"\r\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"' if "," in text or '"' in text else text
