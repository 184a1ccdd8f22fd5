"""What tells protocols apart before anything is decoded: paths, headers and the form of a query.

Every request that is not DynamoDB's is held against these, so nothing here needs a codec.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl

from hashrange.errors import SerializationException
from hashrange.limits import CALL_ITEMS_MAX
from hashrange.wire.http.messages import HttpRequest

_RPC_CBOR: Final = b"rpc-v2-cbor"
_RPC_PATH: Final = re.compile(rb"/service/([\w.]+)/operation/(\w+)", re.ASCII)
_FORM: Final = b"application/x-www-form-urlencoded"
_CREDENTIAL: Final = re.compile(rb"/\d{8}/[^/,\s]+/([^/,\s]+)/aws4_request")


def signing_service(request: HttpRequest) -> str:
    """Return the service in the credential scope that a request claims, "" if it claims none."""
    credential = request.head.headers.get(b"authorization", b"")
    if not credential and b"X-Amz-Credential=" in request.head.url:
        fields = parse_qsl(request.head.url.partition(b"?")[2], encoding="latin-1")
        credential = dict(fields).get(b"X-Amz-Credential", b"")
    match = _CREDENTIAL.search(credential)
    return match[1].decode("latin-1") if match is not None else ""


def rpc_address(request: HttpRequest) -> tuple[str, str] | None:
    """Return service and operation of a Smithy RPC v2 CBOR request, None for any other."""
    head = request.head
    if head.headers.get(b"smithy-protocol") != _RPC_CBOR or head.method != b"POST":
        return None
    match = _RPC_PATH.fullmatch(head.url.partition(b"?")[0])
    return (match[1].decode(), match[2].decode()) if match is not None else None


def is_form(request: HttpRequest) -> bool:
    """Tell whether a request may carry the form of a query: in its body, or in its URL."""
    head = request.head
    if head.method == b"GET":
        return head.url.startswith(b"/?") and b"Action=" in head.url
    content_type = head.headers.get(b"content-type", b"").partition(b";")[0]
    return head.is_call and content_type.strip().lower() == _FORM


def read_form(request: HttpRequest, body: bytes) -> dict[str, str]:
    """Return the fields of URL and body; SerializationException if they are no form."""
    parts = [request.head.url.partition(b"?")[2]]
    if request.head.method == b"POST":
        parts.append(body)
    fields: dict[str, str] = {}
    for part in parts:
        try:
            pairs = parse_qsl(
                part.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=CALL_ITEMS_MAX,
            )
        except ValueError:
            raise SerializationException("The request is not a valid form") from None
        fields.update(pairs)
    return fields
