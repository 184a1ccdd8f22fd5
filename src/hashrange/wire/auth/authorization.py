"""Reads the signature of a request from its Authorization header or its query string.

Errors have AWS's types and texts; all faults of one kind are reported together.
"""

from __future__ import annotations

import re
from typing import Final, final
from urllib.parse import parse_qsl

from hashrange.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from hashrange.wire.http.messages import HttpRequest

ALGORITHM: Final = "AWS4-HMAC-SHA256"

# Every SDK writes the three parameters in this order and with these separators.
CREDENTIAL_START: Final = b"AWS4-HMAC-SHA256 Credential="
_SIGNED_HEADERS_START: Final = b"SignedHeaders="
_SIGNATURE_START: Final = b"Signature="
_PARAMETER: Final = re.compile(rb"(Credential|Signature|SignedHeaders)=([^\s,]*)")
_REGION: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_PRESIGNED_NAMES: Final = ("Algorithm", "Credential", "Signature", "SignedHeaders", "Date")


@final
class Claim:
    """A signature and the headers it claims to cover."""

    __slots__ = (
        "credential",
        "expires",
        "is_presigned",
        "signature",
        "signed_headers",
        "time",
        "token",
    )

    def __init__(
        self, credential: bytes, signed_headers: bytes, signature: bytes, time: bytes
    ) -> None:
        self.credential = credential
        self.signed_headers = signed_headers
        self.signature = signature
        self.time = time
        self.token: bytes | None = None
        self.is_presigned = False
        self.expires: str | None = None


def read_claim(request: HttpRequest) -> Claim:
    """Return the claim of a request, or raise the error AWS answers when it has none."""
    header = request.headers.get(b"authorization")
    if b"?" in request.head.url:
        query = request.head.url.partition(b"?")[2].decode("latin-1")
        parameters = dict(parse_qsl(query, keep_blank_values=True, encoding="latin-1"))
        if "X-Amz-Algorithm" in parameters:
            if header is not None:
                raise InvalidSignatureException(
                    "Found both 'X-Amz-Algorithm' as a query-string param "
                    "and 'Authorization' as HTTP header."
                )
            return _read_presigned(parameters)
    if header is None or not header.startswith(b"AWS4-"):
        raise MissingAuthenticationTokenException("Request is missing Authentication Token")
    return _read_header(header, request)


def _read_header(header: bytes, request: HttpRequest) -> Claim:
    headers = request.headers
    time = headers.get(b"x-amz-date") or headers.get(b"date")
    parts = header.split(b", ")
    if (
        len(parts) == 3
        and parts[0].startswith(CREDENTIAL_START)
        and parts[1].startswith(_SIGNED_HEADERS_START)
        and parts[2].startswith(_SIGNATURE_START)
        and time
    ):
        claim = Claim(
            parts[0][len(CREDENTIAL_START) :],
            parts[1][len(_SIGNED_HEADERS_START) :],
            parts[2][len(_SIGNATURE_START) :],
            time,
        )
        if claim.credential and claim.signed_headers and claim.signature:
            claim.token = headers.get(b"x-amz-security-token")
            return claim
    claim = _read_unusual_header(header, time)
    claim.token = headers.get(b"x-amz-security-token")
    return claim


def _read_unusual_header(header: bytes, time: bytes | None) -> Claim:
    parameters = dict(_PARAMETER.findall(header))
    text = header.decode("latin-1")
    faults = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not parameters.get(name.encode())
    )
    if not time:
        faults += (
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
        )
    if faults or not time:
        raise IncompleteSignatureException(f"{faults}Authorization={text}")
    algorithm = text.partition(" ")[0]
    if algorithm != ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{algorithm}'.")
    return Claim(
        parameters[b"Credential"], parameters[b"SignedHeaders"], parameters[b"Signature"], time
    )


def _read_presigned(parameters: dict[str, str]) -> Claim:
    faults = "".join(
        f"AWS query-string parameters must include 'X-Amz-{name}'. "
        for name in _PRESIGNED_NAMES
        if not parameters.get(f"X-Amz-{name}")
    )
    if faults:
        raise IncompleteSignatureException(f"{faults}Re-examine the query-string parameters.")
    algorithm = parameters["X-Amz-Algorithm"]
    if algorithm != ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{algorithm}'.")
    claim = Claim(
        parameters["X-Amz-Credential"].encode("latin-1"),
        parameters["X-Amz-SignedHeaders"].encode("latin-1"),
        parameters["X-Amz-Signature"].encode("latin-1"),
        parameters["X-Amz-Date"].encode("latin-1"),
    )
    claim.is_presigned = True
    claim.expires = parameters.get("X-Amz-Expires")
    token = parameters.get("X-Amz-Security-Token")
    claim.token = token.encode("latin-1") if token is not None else None
    return claim


@final
class Scope:
    """A parsed credential: key id, date, region and service."""

    __slots__ = ("access_key", "date", "region", "service", "text")

    def __init__(self, credential: bytes, signing_name: str) -> None:
        shown = credential.decode("latin-1")
        parts = shown.rsplit("/", 4)
        if len(parts) != 5:
            raise IncompleteSignatureException(
                "Credential must have exactly 5 slash-delimited elements, "
                f"e.g. keyid/date/region/service/term, got '{shown}'"
            )
        self.access_key, self.date, self.region, self.service, terminator = parts
        self.text = "/".join(parts[1:]).encode("latin-1")
        faults = ""
        if not _REGION.fullmatch(self.region):
            faults += f"Credential should be scoped to a valid region, not '{self.region}'. "
        if self.service != signing_name:
            faults += f"Credential should be scoped to correct service: '{signing_name}'. "
        if terminator != "aws4_request":
            faults += (
                "Credential should be scoped with a valid terminator: 'aws4_request', "
                f"not '{terminator}'. "
            )
        if faults:
            raise InvalidSignatureException(faults)
