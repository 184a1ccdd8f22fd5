"""Signature Version 4: who signed a request, in its header and its presigned form.

Failures are reported with AWS's error types and texts, in the order AWS reports them. Without
credentials (`OpenDoor`) a request must be well formed but may be signed with anything; with them
(`Verifier`) the signature must be right, the time within fifteen minutes, and the key a known one.
Signing keys are derived once a day for each key and region and kept, so that a verification costs
two hashes and one HMAC.
"""

from __future__ import annotations

import hmac
import re
from calendar import timegm
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from time import gmtime, strftime, strptime
from typing import Protocol, final
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from hashrange.clock import Clock
from hashrange.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
    UnrecognizedClientException,
)
from hashrange.wire.identity import Identity, account_of
from hashrange.wire.messages import HttpRequest

_ALGORITHM = "AWS4-HMAC-SHA256"
_SKEW_SECONDS = 15 * 60
_PRESIGNED_SECONDS_MAX = 7 * 24 * 3600
# Entries of the caches below; each is a few hundred bytes.
_CACHE_MAX = 4096

_PARAMETER = re.compile(r"(Credential|Signature|SignedHeaders)=([^\s,]*)")
_REGION = re.compile(r"[A-Za-z0-9-]{1,64}")
_WRONG_SIGNATURE = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. "
    "Consult the service documentation for details."
)


@final
class Credential:
    """What the server knows of an access key."""

    __slots__ = ("access_key", "account", "secret", "token")

    def __init__(
        self, access_key: str, secret: str, *, account: str | None = None, token: str | None = None
    ) -> None:
        self.access_key = access_key
        self.secret = secret
        self.account = account or account_of(access_key)
        self.token = token


class Authenticator(Protocol):
    """Says who sent a request, or raises the error AWS answers."""

    def authenticate(self, request: HttpRequest) -> Identity: ...


@final
class _Claim:
    """What a request says of its own signature."""

    __slots__ = ("expires", "is_presigned", "scope", "signature", "signed_headers", "time", "token")

    def __init__(self, credential: str, signature: str, signed_headers: str, time: str) -> None:
        self.scope = credential
        self.signature = signature
        self.signed_headers = signed_headers
        self.time = time
        self.expires: str | None = None
        self.token: str | None = None
        self.is_presigned = False


@final
class _Scope:
    """A parsed credential: key id, date, region, service and terminator."""

    __slots__ = ("access_key", "date", "region", "service", "text")

    def __init__(self, credential: str) -> None:
        parts = credential.rsplit("/", 4)
        if len(parts) != 5:
            raise IncompleteSignatureException(
                "Credential must have exactly 5 slash-delimited elements, "
                f"e.g. keyid/date/region/service/term, got '{credential}'"
            )
        self.access_key, self.date, self.region, self.service, terminator = parts
        self.text = "/".join(parts[1:])
        faults = ""
        if not _REGION.fullmatch(self.region):
            faults += f"Credential should be scoped to a valid region, not '{self.region}'. "
        if self.service != "dynamodb":
            faults += "Credential should be scoped to correct service: 'dynamodb'. "
        if terminator != "aws4_request":
            faults += (
                "Credential should be scoped with a valid terminator: 'aws4_request', "
                f"not '{terminator}'. "
            )
        if faults:
            raise InvalidSignatureException(faults)


@final
class OpenDoor:
    """Accepts whatever is well formed: the account and region are what the request claims."""

    def __init__(self) -> None:
        self._identities: dict[bytes, Identity] = {}

    def authenticate(self, request: HttpRequest) -> Identity:
        """Return who the request says it is from."""
        header = request.headers.get(b"authorization", b"")
        # "AWS4-HMAC-SHA256 Credential=.../aws4_request", which many requests share.
        start = header.partition(b",")[0]
        identity = self._identities.get(start)
        if (
            identity is not None
            and b"Signature=" in header
            and b"SignedHeaders=" in header
            and b"x-amz-date" in request.headers
            and b"?" not in request.url
        ):
            return identity
        scope = _Scope(_read_claim(request).scope)
        identity = Identity(scope.access_key, account_of(scope.access_key), scope.region)
        if start.startswith(b"AWS4-HMAC-SHA256 Credential="):
            if len(self._identities) >= _CACHE_MAX:
                self._identities.clear()
            self._identities[start] = identity
        return identity


@final
class Verifier:
    """Accepts requests signed with a known key."""

    def __init__(self, credentials: Mapping[str, Credential], clock: Clock) -> None:
        self._credentials = dict(credentials)
        self._clock = clock
        self._keys: dict[tuple[str, str, str], tuple[Identity, bytes]] = {}
        self._scopes: dict[str, _Scope] = {}

    def authenticate(self, request: HttpRequest) -> Identity:
        """Return who signed the request."""
        claim = _read_claim(request)
        scope = self._scopes.get(claim.scope)
        if scope is None:
            if len(self._scopes) >= _CACHE_MAX:
                self._scopes.clear()
            scope = self._scopes[claim.scope] = _Scope(claim.scope)
        time = _check_time(claim, scope, self._clock.now())
        credential = self._credentials.get(scope.access_key)
        if credential is None or (credential.token or None) != (claim.token or None):
            raise UnrecognizedClientException(
                "The security token included in the request is invalid."
            )
        _check_signed_headers(request, claim)
        identity, key = self._signing_key(credential, scope)
        canonical = _canonical_request(request, claim)
        text = f"{_ALGORITHM}\n{time}\n{scope.text}\n{sha256(canonical).hexdigest()}"
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        if not hmac.compare_digest(signature.encode(), claim.signature.encode()):
            raise InvalidSignatureException(_WRONG_SIGNATURE)
        return identity

    def _signing_key(self, credential: Credential, scope: _Scope) -> tuple[Identity, bytes]:
        cache_key = (credential.access_key, scope.date, scope.region)
        entry = self._keys.get(cache_key)
        if entry is None:
            key = f"AWS4{credential.secret}".encode()
            for part in (scope.date, scope.region, scope.service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            identity = Identity(credential.access_key, credential.account, scope.region)
            if len(self._keys) >= _CACHE_MAX:
                self._keys.clear()
            entry = self._keys[cache_key] = (identity, key)
        return entry


def _read_claim(request: HttpRequest) -> _Claim:
    header = request.headers.get(b"authorization")
    query = request.url.partition(b"?")[2]
    if query:
        parameters = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
        if "X-Amz-Algorithm" in parameters:
            if header is not None:
                raise InvalidSignatureException(
                    "Found both 'X-Amz-Algorithm' as a query-string param "
                    "and 'Authorization' as HTTP header."
                )
            return _read_presigned(parameters)
    if header is None or not header.startswith(b"AWS4-"):
        raise MissingAuthenticationTokenException("Request is missing Authentication Token")
    return _read_header(header.decode("latin-1"), request)


def _read_header(header: str, request: HttpRequest) -> _Claim:
    parameters = dict(_PARAMETER.findall(header))
    time = request.headers.get(b"x-amz-date") or request.headers.get(b"date")
    faults = "".join(
        f"Authorization header requires '{name}' parameter. "
        for name in ("Credential", "Signature", "SignedHeaders")
        if not parameters.get(name)
    )
    if not time:
        faults += (
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
        )
    if faults:
        raise IncompleteSignatureException(f"{faults}Authorization={header}")
    if not header.startswith(_ALGORITHM + " "):
        raise IncompleteSignatureException(
            f"Unsupported AWS 'algorithm': '{header.partition(' ')[0]}'"
        )
    assert time is not None
    claim = _Claim(
        parameters["Credential"],
        parameters["Signature"],
        parameters["SignedHeaders"],
        time.decode("latin-1"),
    )
    token = request.headers.get(b"x-amz-security-token")
    claim.token = token.decode("latin-1") if token is not None else None
    return claim


def _read_presigned(parameters: Mapping[str, str]) -> _Claim:
    names = ("Algorithm", "Credential", "Signature", "SignedHeaders", "Date")
    faults = "".join(
        f"AWS query-string parameters must include 'X-Amz-{name}'. "
        for name in names
        if not parameters.get(f"X-Amz-{name}")
    )
    if faults:
        raise IncompleteSignatureException(f"{faults}Re-examine the query-string parameters.")
    algorithm = parameters["X-Amz-Algorithm"]
    if algorithm != _ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{algorithm}'")
    claim = _Claim(
        parameters["X-Amz-Credential"],
        parameters["X-Amz-Signature"],
        parameters["X-Amz-SignedHeaders"],
        parameters["X-Amz-Date"],
    )
    claim.is_presigned = True
    claim.expires = parameters.get("X-Amz-Expires")
    claim.token = parameters.get("X-Amz-Security-Token")
    return claim


def _check_time(claim: _Claim, scope: _Scope, now: float) -> str:
    """Return the request's time in its basic ISO form, once it is found to be current."""
    time, seconds = _parse_time(claim.time)
    if time[:8] != scope.date:
        raise InvalidSignatureException(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
            f"from HTTP: '{scope.date}' != '{time[:8]}', from '{time}'."
        )
    allowed = _SKEW_SECONDS
    if claim.is_presigned and claim.expires is not None:
        allowed = _parse_expires(claim.expires)
    if now - seconds > allowed:
        raise InvalidSignatureException(
            f"Signature expired: {time} is now earlier than {_iso(now - allowed)} "
            f"({_iso(now)} - {allowed // 60} min.)"
        )
    if seconds - now > _SKEW_SECONDS:
        raise InvalidSignatureException(
            f"Signature not yet current: {time} is still later than {_iso(now + _SKEW_SECONDS)} "
            f"({_iso(now)} + {_SKEW_SECONDS // 60} min.)"
        )
    return time


def _parse_expires(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) <= _PRESIGNED_SECONDS_MAX):
        raise IncompleteSignatureException(
            "X-Amz-Expires must be a number of seconds between 0 and 604800"
        )
    return int(text)


@lru_cache(maxsize=256)
def _parse_time(text: str) -> tuple[str, int]:
    for form in ("%Y%m%dT%H%M%SZ", "%a, %d %b %Y %H:%M:%S GMT"):
        try:
            seconds = timegm(strptime(text, form))
        except ValueError:
            continue
        return _iso(seconds), seconds
    raise IncompleteSignatureException(
        f"Date must be in ISO-8601 'basic format'. Got '{text}'. "
        "See http://en.wikipedia.org/wiki/ISO_8601"
    )


def _iso(seconds: float) -> str:
    return strftime("%Y%m%dT%H%M%SZ", gmtime(seconds))


def _check_signed_headers(request: HttpRequest, claim: _Claim) -> None:
    signed = claim.signed_headers
    if "host" not in signed:
        raise InvalidSignatureException(
            "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
        )
    # An unsigned target would let anybody turn a signed request into another operation.
    if b"x-amz-target" in request.headers and "x-amz-target" not in signed:
        raise InvalidSignatureException(
            "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization."
        )


def _canonical_request(request: HttpRequest, claim: _Claim) -> bytes:
    path, _, query = request.url.partition(b"?")
    headers = request.headers
    lines = []
    for name in claim.signed_headers.split(";"):
        value = headers.get(name.encode("latin-1"), b"")
        lines.append(f"{name}:{' '.join(value.decode('latin-1').split())}\n")
    return "\n".join(
        [
            request.method.decode("latin-1"),
            quote(unquote_to_bytes(path), safe="/-_.~") or "/",
            _canonical_query(query, claim) if query else "",
            "".join(lines),
            claim.signed_headers,
            sha256(request.body).hexdigest(),
        ]
    ).encode("latin-1")


def _canonical_query(query: bytes, claim: _Claim) -> str:
    pairs = []
    for part in query.decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        name = quote(unquote_to_bytes(name), safe="-_.~")
        if claim.is_presigned and name == "X-Amz-Signature":
            continue
        pairs.append(f"{name}={quote(unquote_to_bytes(value), safe='-_.~')}")
    return "&".join(sorted(pairs))
