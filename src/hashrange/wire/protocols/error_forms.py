"""Errors as protocols need them: code, code in the query protocol, status, and whose fault."""

from __future__ import annotations

from typing import Any, Final, final

from hashrange.errors import ClientError
from hashrange.neighbours.service import ServiceError
from hashrange.wire.protocols.codec import Call
from hashrange.wire.protocols.service_models import ServiceModel, Shape

# Errors that every service has: code and status in the query protocol.
_QUERY_CODES: Final = {
    "AccessDeniedException": ("AccessDenied", 403),
    "ExpiredTokenException": ("ExpiredToken", 403),
    "IncompleteSignatureException": ("IncompleteSignature", 400),
    "InternalServerError": ("InternalFailure", 500),
    "InvalidSignatureException": ("SignatureDoesNotMatch", 403),
    "MissingAuthenticationTokenException": ("MissingAuthenticationToken", 403),
    "SerializationException": ("MalformedInput", 400),
    "ServiceUnavailableException": ("ServiceUnavailable", 503),
    "ThrottlingException": ("Throttling", 400),
    "UnknownOperationException": ("InvalidAction", 400),
    "UnrecognizedClientException": ("InvalidClientTokenId", 403),
    "ValidationException": ("ValidationError", 400),
}
# Errors of the protocol itself, which have no counterpart in another protocol.
_UNTRANSLATED: Final = frozenset(("SerializationException", "UnknownOperationException"))


@final
class ErrorForm:
    """An error, completed from the model of its service."""

    __slots__ = (
        "code",
        "is_sender",
        "members",
        "message",
        "query_code",
        "query_status",
        "shape",
        "status",
    )

    def __init__(self, error: ClientError, model: ServiceModel | None) -> None:
        self.code = error.code
        self.message = error.message
        self.members: dict[str, Any] = error.members or {}
        self.status = error.status
        self.query_code, self.query_status = _QUERY_CODES.get(error.code, ("", error.status))
        self.shape: Shape | None = model.error_shape(error.code) if model is not None else None
        is_sender: bool | None = None
        if model is not None and self.shape is not None:
            traits = self.shape.metadata.get("error", {})
            self.code = self.shape.name
            self.query_code = traits.get("code", self.shape.name)
            if not (isinstance(error, ServiceError) and error.has_status):
                fallback = 500 if self.shape.name in model.faults else error.status
                self.status = self.query_status = traits.get("httpStatusCode", fallback)
            is_sender = traits.get("senderFault", self.status < 500)
        self.query_code = self.query_code or error.code
        if is_sender is None:
            is_sender = error.is_sender if isinstance(error, ServiceError) else self.status < 500
        self.is_sender = is_sender

    @property
    def fault(self) -> str:
        return "Sender" if self.is_sender else "Receiver"

    @property
    def message_member(self) -> str:
        """The name of the member with the text; models write it with and without a capital."""
        if self.shape is not None:
            for name in self.shape.members:
                if name.lower() == "message":
                    return name
        return "message"


def query_error_line(form: ErrorForm, call: Call) -> bytes:
    """Return the header line with the query protocol's code, if the client wants it."""
    if not call.is_query_mode or form.code in _UNTRANSLATED:
        return b""
    return f"x-amzn-query-error: {form.query_code};{form.fault}\r\n".encode()
