"""Signature Version 4: the authenticators of the request pipeline.

`OpenDoor`, for servers without credentials, wants a well-formed signature but does not verify it.
`Verifier` wants an access key that its key ring knows, a time within fifteen minutes, and a correct
signature. Either way the credential scope must name the service of the request. Signing keys are
cached, so that a verification costs two hashes and one HMAC. Errors have AWS's types and texts.
"""

from __future__ import annotations

import hmac
from calendar import timegm
from collections.abc import Coroutine
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from operator import itemgetter
from time import gmtime, strftime, strptime
from typing import TYPE_CHECKING, Final, final
from urllib.parse import quote, unquote_to_bytes

from hashrange.api.scope import Caller
from hashrange.clock import Clock
from hashrange.errors import (
    ExpiredTokenException,
    IncompleteSignatureException,
    InvalidSignatureException,
    UnrecognizedClientException,
)
from hashrange.wire.auth.accounts import account_of, root_caller
from hashrange.wire.auth.authorization import CREDENTIAL_START, Claim, Scope, read_claim
from hashrange.wire.auth.chunk_signatures import PAYLOADS, check_chunks
from hashrange.wire.auth.key_rings import Credential, KeyRing
from hashrange.wire.http.messages import ID_NAME, SIGNATURE_BYTES, Headers, HttpRequest

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

_S3_SCOPE: Final = b"/s3/aws4_request"
_UNSIGNED: Final = b"UNSIGNED-PAYLOAD"
_SKEW_SECONDS: Final = 15 * 60
_PRESIGNED_SECONDS_MAX: Final = 7 * 24 * 3600
# Entries of each cache below; each is a few hundred bytes.
_CACHE_MAX: Final = 4096
_INNER_PAD: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD: Final = bytes(byte ^ 0x5C for byte in range(256))


@final
class OpenDoor:
    """Accepts every well-formed signature: account and region are what the request claims."""

    def __init__(self) -> None:
        self._callers: dict[bytes, Caller] = {}

    def authenticate(self, request: HttpRequest, signing_name: str) -> Caller:
        """Return the caller that the request names."""
        head = request.head
        start = head.authorization_start
        caller = self._callers.get(start)
        if caller is None or caller.signing_name != signing_name or not head.is_plainly_signed:
            scope = Scope(read_claim(request).credential, signing_name)
            account = account_of(scope.access_key)
            caller = root_caller(scope.access_key, account, scope.region, signing_name)
            # Only well-formed headers are cached.
            if start.startswith(CREDENTIAL_START) and start.endswith(b"Signature="):
                if len(self._callers) >= _CACHE_MAX:
                    self._callers.clear()
                self._callers[start] = caller
        return caller


@final
class _Signer:
    """A known access key in one credential scope, with the signing key derived from both."""

    __slots__ = ("_inner", "_outer", "caller", "expires_at", "scope")

    def __init__(self, credential: Credential, scope: Scope) -> None:
        principal = credential.grants.principal
        self.caller = Caller(
            credential.access_key,
            principal.account,
            principal.arn,
            scope.region,
            scope.service,
            credential.grants,
        )
        self.scope = scope
        self.expires_at = credential.expires_at
        key = f"AWS4{credential.secret}".encode()
        for part in (scope.date, scope.region, scope.service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        # The two halves of an HMAC with the key already taken in: copying them costs half as
        # much as starting anew for each request.
        block = key.ljust(sha256().block_size, b"\0")
        self._inner = sha256(block.translate(_INNER_PAD))
        self._outer = sha256(block.translate(_OUTER_PAD))

    def halves(self, text: bytes) -> tuple[Hash, Hash]:
        """Return the inner half with a text taken in, and the outer half."""
        inner = self._inner.copy()
        inner.update(text)
        return inner, self._outer.copy()

    def sign(self, text: bytes) -> str:
        """Return the signature of a text."""
        inner, outer = self.halves(text)
        outer.update(inner.digest())
        return outer.hexdigest()


@final
class _SharedHead:
    """What is the same for all requests with one head: all but body, signature and id.

    Between `since` and `until` the head's time is current. The hashes have taken in what comes
    before the hash of the body in the canonical request (`canonical`), and before the hash of
    all that in the text to sign (`inner`), so a verification adds 64 bytes to each.
    """

    __slots__ = (
        "_canonical",
        "_inner",
        "_outer",
        "caller",
        "counter",
        "ring",
        "seen",
        "service",
        "since",
        "until",
    )

    def __init__(self, ring: KeyRing, signer: _Signer, canonical: bytes, text: bytes) -> None:
        self.ring = ring
        self.counter, self.seen = ring.freshness()
        self.caller = signer.caller
        self.service = signer.scope.service
        self.since = 0.0
        self.until = 0.0
        self._canonical = sha256(canonical)
        self._inner, self._outer = signer.halves(text)

    def is_signed(self, request: HttpRequest) -> bool:
        """Tell whether the signature of a request with this head is right."""
        digest = self._canonical.copy()
        digest.update(sha256(request.body).hexdigest().encode())
        inner = self._inner.copy()
        inner.update(digest.hexdigest().encode())
        outer = self._outer.copy()
        outer.update(inner.digest())
        return compare_digest(outer.hexdigest().encode(), request.signature)


@final
class Verifier:
    """Accepts requests signed with a key of a key ring."""

    def __init__(self, keys: KeyRing, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._signers: dict[tuple[bytes, bytes | None], _Signer] = {}
        self._version = -1

    def authenticate(
        self, request: HttpRequest, signing_name: str
    ) -> Caller | Coroutine[None, None, Caller]:
        """Return the caller that signed the request."""
        shared = request.head.signing
        if (
            isinstance(shared, _SharedHead)
            and request.signature
            and shared.ring is self._keys
            and shared.counter() == shared.seen
            and shared.service == signing_name
            and shared.since <= self._clock.now() <= shared.until
            and shared.is_signed(request)
        ):
            return shared.caller
        if not self._keys.is_current:
            return self._authenticate_later(request, signing_name)
        return self._authenticate(request, signing_name)

    async def _authenticate_later(self, request: HttpRequest, signing_name: str) -> Caller:
        await self._keys.refresh()
        return self._authenticate(request, signing_name)

    def _authenticate(self, request: HttpRequest, signing_name: str) -> Caller:
        if self._version != self._keys.version:
            self._version = self._keys.version
            self._signers.clear()
        claim = read_claim(request)
        signer = self._signers.get((claim.credential, claim.token))
        now = self._clock.now()
        time = _check_time(claim, now)
        if signer is None or signer.scope.service != signing_name:
            signer = None
            scope = Scope(claim.credential, signing_name)
        else:
            scope = signer.scope
        _check_scope_date(scope, time)
        if signer is None:
            signer = self._remember(claim, scope)
        canonical = _canonical_request(request, claim)
        start = b"AWS4-HMAC-SHA256\n%b\n%b\n" % (time.encode(), scope.text)
        text = start + sha256(canonical).hexdigest().encode()
        if not compare_digest(signer.sign(text).encode(), claim.signature):
            raise InvalidSignatureException(
                "The request signature we calculated does not match the signature you provided. "
                "Check your AWS Secret Access Key and signing method. "
                "Consult the service documentation for details."
            )
        if scope.service == "s3" and not claim.is_presigned:
            declared = request.headers.get(b"x-amz-content-sha256", b"")
            lines = start.partition(b"\n")[2]
            check_chunks(request.body, declared, lines, claim.signature, signer.sign)
        if now >= signer.expires_at:
            raise ExpiredTokenException("The security token included in the request is expired")
        if request.signature and request.head.is_plainly_signed and not claim.is_presigned:
            self._share(request, claim, signer, canonical, start)
        return signer.caller

    def _share(
        self, request: HttpRequest, claim: Claim, signer: _Signer, canonical: bytes, start: bytes
    ) -> None:
        """Remember what the next request with the same head need not compute again."""
        if ID_NAME in claim.signed_headers.split(b";"):
            return
        shared = _SharedHead(self._keys, signer, canonical[:-SIGNATURE_BYTES], start)
        seconds = _parse_time(claim.time)[1]
        shared.since = float(seconds - _SKEW_SECONDS)
        # Of an end that comes first, the full check tells which it is.
        shared.until = min(float(seconds + _SKEW_SECONDS), signer.expires_at - 1.0)
        request.head.signing = shared

    def _remember(self, claim: Claim, scope: Scope) -> _Signer:
        credential = self._keys.find(scope.access_key, claim.token)
        if credential is None:
            raise UnrecognizedClientException(
                "The security token included in the request is invalid."
            )
        if len(self._signers) >= _CACHE_MAX:
            self._signers.clear()
        signer = self._signers[(claim.credential, claim.token)] = _Signer(credential, scope)
        return signer


def _check_scope_date(scope: Scope, time: str) -> None:
    if time[:8] != scope.date:
        raise InvalidSignatureException(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
            f"from HTTP: '{scope.date}' != '{time[:8]}', from '{time}'."
        )


def _check_time(claim: Claim, now: float) -> str:
    """Return the request's time in its basic ISO form, once it is found to be current."""
    time, seconds = _parse_time(claim.time)
    allowed = _SKEW_SECONDS
    if claim.expires is not None:
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
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise IncompleteSignatureException("X-Amz-Expires should be a number")
    if int(text) > _PRESIGNED_SECONDS_MAX:
        raise IncompleteSignatureException(
            "X-Amz-Expires must be less than a week (in seconds) that is 604800"
        )
    return int(text)


@lru_cache(maxsize=256)
def _parse_time(given: bytes) -> tuple[str, int]:
    text = given.decode("latin-1")
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


@final
class _SignedHeaders:
    """The names of the headers a signature covers, prepared for many requests."""

    __slots__ = ("covers_at", "covers_host", "covers_target", "names", "template", "values_of")

    def __init__(self, text: bytes) -> None:
        self.names = text.split(b";")
        self.covers_host = b"host" in self.names
        self.covers_target = b"x-amz-target" in self.names
        self.covers_at = b"x-hashrange-at" in self.names
        # With a second name there is always a tuple, also if only one header is signed.
        self.values_of = itemgetter(*self.names, b"host")
        self.template = b"".join(name.replace(b"%", b"%%") + b":%b\n" for name in self.names)

    def lines(self, headers: Headers) -> bytes:
        """Return the headers as they are signed."""
        try:
            lines: bytes = self.template % self.values_of(headers)[:-1]
        except KeyError:
            return self._lines_one_by_one(headers)
        if b"  " in lines or b" \n" in lines:
            return self._lines_one_by_one(headers)
        return lines

    def _lines_one_by_one(self, headers: Headers) -> bytes:
        return b"".join(
            b"%b:%b\n" % (name, b" ".join(headers.get(name, b"").split())) for name in self.names
        )


_signed_headers = lru_cache(maxsize=256)(_SignedHeaders)


def _canonical_request(request: HttpRequest, claim: Claim) -> bytes:
    signed = _signed_headers(claim.signed_headers)
    if not signed.covers_host:
        raise InvalidSignatureException(
            "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
        )
    # An unsigned target would let anybody turn a signed request into another operation.
    if not signed.covers_target and b"x-amz-target" in request.headers:
        raise InvalidSignatureException(
            "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization."
        )
    # Nor may anybody have a signed request read the past instead.
    if not signed.covers_at and b"x-hashrange-at" in request.headers:
        raise InvalidSignatureException(
            "'X-Hashrange-At' must be a 'SignedHeader' in the AWS Authorization."
        )
    url = b"/\n" if request.head.url == b"/" else _canonical_url(request.head.url, claim)
    lines = signed.lines(request.headers)
    payload = _payload(request, claim)
    return b"%b\n%b\n%b\n%b\n%b" % (request.head.method, url, lines, claim.signed_headers, payload)


def _payload(request: HttpRequest, claim: Claim) -> bytes:
    """Return what a signature says about the body: its hash, or to S3 that it is not covered."""
    if claim.credential.endswith(_S3_SCOPE):
        if claim.is_presigned:
            return _UNSIGNED
        declared = request.headers.get(b"x-amz-content-sha256", b"")
        if declared == _UNSIGNED or declared in PAYLOADS:
            return declared
    return sha256(request.body).hexdigest().encode()


def _canonical_url(url: bytes, claim: Claim) -> bytes:
    """Return path and query, each encoded in the one way that is signed."""
    path, _, query = url.partition(b"?")
    pairs = []
    for part in query.split(b"&") if query else ():
        name, _, value = part.partition(b"=")
        name_text = quote(unquote_to_bytes(name), safe="-_.~")
        if claim.is_presigned and name_text == "X-Amz-Signature":
            continue
        pairs.append(f"{name_text}={quote(unquote_to_bytes(value), safe='-_.~')}")
    path_text = quote(unquote_to_bytes(path), safe="/-_.~") or "/"
    return f"{path_text}\n{'&'.join(sorted(pairs))}".encode()
