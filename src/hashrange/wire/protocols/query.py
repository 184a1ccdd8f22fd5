"""AWS query: parameters in a form, members addressed as `A.member.1.B`, answers in XML."""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.errors import ClientError, SerializationException
from hashrange.limits import CALL_ITEMS_MAX, CALL_LEVELS_MAX
from hashrange.wire.http.messages import HttpAnswer
from hashrange.wire.protocols.addresses import signing_service
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.document_values import wire_name
from hashrange.wire.protocols.error_forms import ErrorForm
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel, Shape
from hashrange.wire.protocols.xml_document import DECLARATION, escape
from hashrange.wire.protocols.xml_values import (
    entry_names,
    read_scalar,
    write_members,
)

TEXT_XML: Final = b"text/xml"
_EC2: Final = "ec2"
_INDEX_DIGITS_MAX: Final = 9
# The name space of errors that no service in particular reports.
_FAULT_NAMESPACE: Final = "http://webservices.amazon.com/AWSFault/2005-15-09"


@final
class _Field:
    """A field of a form with those below it, by the parts of their names."""

    __slots__ = ("below", "text")

    def __init__(self) -> None:
        self.text: str | None = None
        self.below: dict[str, _Field] = {}

    def at(self, name: str) -> _Field | None:
        return self.below.get(name)

    def numbered(self) -> list[_Field]:
        """Return the fields below that have numbers for names, in their order."""
        numbers = sorted(
            (int(name), name)
            for name in self.below
            if name.isascii() and name.isdigit() and len(name) <= _INDEX_DIGITS_MAX
        )
        return [self.below[name] for _, name in numbers]


def _tree(fields: dict[str, str]) -> _Field:
    root = _Field()
    count = 0
    for name, text in fields.items():
        field = root
        parts = name.split(".", CALL_LEVELS_MAX)
        if len(parts) > CALL_LEVELS_MAX:
            raise SerializationException("The request is nested too deep")
        for part in parts:
            below = field.below.get(part)
            if below is None:
                below = field.below[part] = _Field()
                count += 1
            field = below
        field.text = text
        if count > CALL_ITEMS_MAX:
            raise SerializationException("The request has too many members")
    return root


def _read(shape: Shape, field: _Field) -> Any:
    if shape.type_name == "structure":
        return _read_structure(shape, field)
    if field.text and shape.type_name in ("list", "map"):
        raise SerializationException("A single value found where a list or map was expected")
    if shape.type_name == "list":
        name = shape.member.serialization.get("name", "member")
        members = field if shape.serialization.get("flattened") else field.at(name)
        return _read_list(shape, members)
    if shape.type_name == "map":
        return _read_map(shape, field)
    if field.text is None:
        raise SerializationException("Start of list or structure found where not expected")
    return read_scalar(shape, field.text)


def _read_structure(shape: Shape, field: _Field) -> dict[str, Any]:
    found = {}
    for name, member in shape.members.items():
        known = wire_name(member, name)
        if member.type_name == "list" and member.serialization.get("flattened"):
            renamed = field.at(member.member.serialization.get("name", known))
            given = renamed or field.at(known)
        else:
            given = field.at(known)
        if given is not None:
            found[name] = _read(member, given)
    return found


def _read_list(shape: Shape, members: _Field | None) -> list[Any]:
    """Return the members of a list; a list is empty if only its name was sent."""
    if members is None:
        return []
    return [_read(shape.member, member) for member in members.numbered()]


def _read_map(shape: Shape, field: _Field) -> dict[str, Any]:
    entries = field if shape.serialization.get("flattened") else field.at("entry")
    key_name, value_name = entry_names(shape)
    found = {}
    for entry in entries.numbered() if entries is not None else ():
        key, value = entry.at(key_name), entry.at(value_name)
        if key is None or key.text is None or value is None:
            raise SerializationException("An entry of a map lacks its key or value")
        found[key.text] = _read(shape.value, value)
    return found


@final
class Query:
    """The codec of the query protocol."""

    name = "query"

    def locate(self, call: Call, model: ServiceModel) -> str:
        # Without a version, no operation can be named.
        return call.operation if call.form.get("Version") == model.api_version else ""

    def read(self, call: Call, operation: OperationModel) -> dict[str, Any]:
        if operation.input_shape is None:
            return {}
        return _read_structure(operation.input_shape, _tree(call.form))

    def write(self, call: Call, result: dict[str, Any], request_id: str) -> HttpAnswer:
        assert call.operation_model is not None
        assert call.model is not None
        name = call.operation_model.name
        shape = call.operation_model.output_shape
        out = [f'<{name}Response xmlns="{escape(call.model.namespace)}">']
        if shape is not None:
            wrapper = shape.serialization.get("resultWrapper", f"{name}Result")
            out.append(f"<{wrapper}>")
            write_members(shape, result, out)
            out.append(f"</{wrapper}>")
        out.append(f"<ResponseMetadata><RequestId>{escape(request_id)}</RequestId>")
        out.append(f"</ResponseMetadata></{name}Response>\n")
        return HttpAnswer(200, "".join(out).encode(), TEXT_XML)

    def refuse(self, call: Call, error: ClientError, request_id: str) -> HttpAnswer:
        form = ErrorForm(error, call.model)
        if call.service is None and signing_service(call.request) == _EC2:
            return _refuse_ec2(call, form, request_id)
        if form.code == "UnknownOperationException":
            version = call.form.get("Version") or "NO_VERSION_SPECIFIED"
            form.message = f"Could not find operation {call.operation} for version {version}"
        namespace = call.model.namespace if call.model is not None else _FAULT_NAMESPACE
        body = wrapped_error(form, namespace, request_id)
        return HttpAnswer(form.query_status, body, TEXT_XML)


def _refuse_ec2(call: Call, form: ErrorForm, request_id: str) -> HttpAnswer:
    """Return an error as EC2 sends it; its dialect of the protocol is not served otherwise."""
    message = f"The action {call.operation} is not valid for this web service."
    body = (
        f"{DECLARATION}<Response><Errors><Error><Code>{escape(form.query_code)}</Code>"
        f"<Message>{escape(form.message or message)}</Message></Error></Errors>"
        f"<RequestID>{escape(request_id)}</RequestID></Response>"
    )
    return HttpAnswer(form.query_status, body.encode(), TEXT_XML)


def wrapped_error(form: ErrorForm, namespace: str, request_id: str) -> bytes:
    """Return the document of an error as query and most REST services send it."""
    out = [
        f'<ErrorResponse xmlns="{escape(namespace)}"><Error><Type>{form.fault}</Type>'
        f"<Code>{escape(form.query_code)}</Code><Message>{escape(form.message)}</Message>"
    ]
    if form.members:
        assert form.shape is not None, f"{form.code} is not in the model but has members"
        write_members(form.shape, form.members, out)
    out.append(f"</Error><RequestId>{escape(request_id)}</RequestId></ErrorResponse>\n")
    return "".join(out).encode()
