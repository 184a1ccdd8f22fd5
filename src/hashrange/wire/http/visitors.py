"""Decides which web pages and which host names a server answers.

A browser lets any page send requests to any address, loopback included. It names the page in
`Origin` (or, for requests without one, says in `Sec-Fetch-Site` that another site made it) and the
name it connected to in `Host`. A server without credentials has only these to tell a page from a
program, so it refuses pages of origins that are not allowed, and on loopback host names that are
not of loopback: a name that an attacker lets resolve to 127.0.0.1 makes a page the server's own
origin (DNS rebinding). A server with credentials leaves the decision to the signature.

The verdict depends on the head alone and is kept there, because requests share heads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, final

from hashrange.errors import AccessDeniedException
from hashrange.wire.http.messages import JSON_1_0, Head, HttpAnswer, HttpRequest
from hashrange.wire.protocols.json_codec import encode

# Names under localhost always mean this machine (RFC 6761).
_LOOPBACK: Final = re.compile(rb"(?:[a-z0-9_.-]+\.)?localhost\.?|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_PORT: Final = re.compile(rb":[0-9]*\Z")
_OTHER_SITES: Final = (b"cross-site", b"same-site")
# What an error text repeats of a header.
_SHOWN_BYTES_MAX: Final = 100


@final
class Visitors:
    """The origins and host names that are answered; one per server process."""

    __slots__ = ("_checks_hosts", "_hosts", "_is_open", "_origins", "_scheme")

    def __init__(
        self,
        origins: Iterable[str] = (),
        hosts: Iterable[str] = (),
        *,
        is_open: bool = True,
        is_local: bool = True,
        is_secure: bool = False,
    ) -> None:
        """Take the allowed names; `is_open` without credentials, `is_local` on loopback."""
        self._scheme = b"https://" if is_secure else b"http://"
        self._origins = frozenset(origin.encode() for origin in origins)
        self._hosts = frozenset(host.encode() for host in hosts)
        self._is_open = is_open
        self._checks_hosts = is_open and (is_local or bool(self._hosts))

    def examine(self, request: HttpRequest) -> None:
        """Refuse a request that a page must not make; note the origin that may read the answer."""
        head = request.head
        if head.origin in self._origins:
            head.reader = head.origin
        complaint = self._complaint(head)
        if not complaint:
            head.is_examined = True
        elif request.refusal is None:
            error = AccessDeniedException(complaint)
            request.refusal = HttpAnswer(403, encode(error.document()), JSON_1_0)

    def _complaint(self, head: Head) -> str:
        """Return why a request is refused; empty if it is not."""
        host = head.headers.get(b"host", b"").lower()
        # Browsers always send a host.
        if self._checks_hosts and host and not self._is_host(_PORT.sub(b"", host)):
            return (
                f"This server has no credentials and does not answer to the host name "
                f"{_shown(host)}. Use 127.0.0.1 or localhost, or start the server with "
                "--allowed-host NAME."
            )
        if head.reader or not (self._is_open or head.method == b"OPTIONS"):
            return ""
        if head.origin is not None:
            if self._checks_hosts and head.origin == self._scheme + host:
                return ""
            return (
                f"Web pages of the origin {_shown(head.origin)} may not use this server. Start it "
                "with --cors-origin ORIGIN to allow them."
            )
        if head.headers.get(b"sec-fetch-site", b"") in _OTHER_SITES:
            return "Web pages of other sites may not use this server."
        return ""

    def _is_host(self, name: bytes) -> bool:
        return name in self._hosts or _LOOPBACK.fullmatch(name) is not None


def _shown(header: bytes) -> str:
    return ascii(header[:_SHOWN_BYTES_MAX].decode("latin-1"))
