"""TLS: the certificate of the server, read again when its files change, and who may connect.

Connections that are open keep the certificate they began with; new ones get the newest. Files that
cannot be used, as when only one of two was replaced yet, leave the last good certificate in use.
TLS 1.2 with forward secrecy and authenticated ciphers is the least; TLS 1.3 is the rule.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from pathlib import Path
from typing import Final, NoReturn, final

_LOGGER: Final = logging.getLogger("hashrange.wire")

# Of TLS 1.2; those of TLS 1.3 are all good.
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
# The first byte of a handshake.
_HANDSHAKE: Final = b"\x16"
_PLAIN_TEXT: Final = b"This server answers to https:// only.\n"
PLAIN_ANSWER: Final = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_PLAIN_TEXT), _PLAIN_TEXT)
)

State = tuple[tuple[int, int, int], ...]


class CertificateError(Exception):
    """The certificate cannot be used; the message says why, for people."""


@final
class Certificates:
    """The certificate and key in use; each process looks at the files for itself.

    Made before the processes are forked, so that a session begun with one of them can be resumed
    with any other.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._state = self._look()
        self.context = self._load()

    def refresh(self) -> None:
        """Read the files again if they have changed."""
        state = self._look()
        if state == self._state:
            return
        self._state = state
        try:
            self.context = self._load()
        except CertificateError as error:
            _LOGGER.error("the certificate in use stays: %s", error)
        else:
            _LOGGER.info("the certificate was read again from %s", self._certificate)

    def _look(self) -> State:
        """Return what tells whether the files have changed."""
        state = []
        for path in (self._certificate, self._key, self._client_ca):
            if path is not None:
                try:
                    found = os.stat(path)
                    state.append((found.st_mtime_ns, found.st_size, found.st_ino))
                except OSError:
                    state.append((0, 0, 0))
        return tuple(state)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(_CIPHERS)
        context.set_alpn_protocols(["http/1.1"])
        self._check_readable()
        try:
            # Without a password OpenSSL would ask the terminal for one.
            context.load_cert_chain(self._certificate, self._key, _refuse_password)
        except _EncryptedKeyError:
            raise CertificateError(f"The key {self._key} is encrypted; decrypt it.") from None
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"{self._certificate} and {self._key} are not a certificate and its key in PEM "
                f"form: {error}."
            ) from error
        if self._client_ca is not None:
            try:
                context.load_verify_locations(self._client_ca)
            except (OSError, ValueError) as error:
                raise CertificateError(
                    f"{self._client_ca} has no certificates in PEM form: {error}."
                ) from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _check_readable(self) -> None:
        for path in (self._certificate, self._key, self._client_ca):
            if path is not None:
                try:
                    path.open("rb").close()
                except OSError as error:
                    raise CertificateError(f"Cannot read {path}: {error.strerror}.") from error


class _EncryptedKeyError(Exception):
    """A key that is to be read has a password."""


def _refuse_password() -> NoReturn:
    raise _EncryptedKeyError


async def is_handshake(
    loop: asyncio.AbstractEventLoop, accepted: socket.socket, seconds: float
) -> bool:
    """Tell whether a client begins with a handshake, and not with plain HTTP; takes no byte."""
    readable = loop.create_future()

    def note() -> None:
        if not readable.done():
            readable.set_result(None)

    loop.add_reader(accepted, note)
    try:
        await asyncio.wait_for(readable, seconds)
    finally:
        loop.remove_reader(accepted)
    return accepted.recv(1, socket.MSG_PEEK) in (_HANDSHAKE, b"")


async def refuse_plain(loop: asyncio.AbstractEventLoop, accepted: socket.socket) -> None:
    """Tell a client that speaks plain HTTP what to do, and hang up."""
    # What it sent is read first: to close a socket with unread bytes would take the answer away.
    accepted.recv(1 << 16)
    await loop.sock_sendall(accepted, PLAIN_ANSWER)
    accepted.close()
