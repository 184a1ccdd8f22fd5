"""Cache of parsed request heads.

The heads of a client's requests are equal, except for the signature and the invocation id that SDKs
generate for each request. A head is found by its bytes without these two parts (see `Frame`), the
cached value is the parsed `Head`. Measured: see docs/decisions/0013-head-cache.md.

Invariant: `recall` returns what the parser would read from the same bytes. Therefore the two parts
may consist of letters, digits and hyphens only, which have no meaning to the parser, and they are
always looked for at the first place that announces them.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.wire.http.messages import ID_NAME, SIGNATURE_BYTES, Head, HttpRequest

_END: Final = b"\r\n\r\n"
_LINE_END: Final = b"\r\n"
_SIGNATURE: Final = b"Signature="
# The part of the header name that is equal in title case (Go) and lower case (other SDKs).
_ID: Final = b"nvocation-"
_ID_SKIPPED: Final = len(b"nvocation-id: ")
_ID_BYTES: Final = 36
# A few kilobytes each at most; the date in a head changes every second.
_HEADS_MAX: Final = 512
_HEAD_BYTES_MAX: Final = 2048
# Requests with these headers need the parser.
_SPECIAL: Final = (b"expect", b"transfer-encoding", b"upgrade")


@final
class Frame:
    """The bytes that heads of one client have in common, around signature and invocation id.

    `start` ends at the first of the two, `middle` lies between them, and what follows the second is
    the key of `heads`: it often differs, since the content length stands there. A connection
    remembers its last frame, because comparing bytes is much cheaper than looking for them.
    """

    __slots__ = ("heads", "id_at", "middle", "middle_at", "rest_at", "signature_at", "start")

    def __init__(self, data: bytes, places: _Places) -> None:
        self.signature_at, self.id_at = places.signature_at, places.id_at
        self.start = data[: places.first]
        self.middle_at = places.middle_at
        self.middle = data[places.middle_at : places.second]
        self.rest_at = places.rest_at
        self.heads: dict[bytes, Head] = {}

    def fits(self, data: bytes) -> bool:
        """Tell whether a request begins like this."""
        return data.startswith(self.start) and data.startswith(self.middle, self.middle_at)

    def read(self, data: bytes) -> HttpRequest | None:
        """Return the request in bytes that fit, if they are exactly one request."""
        rest_at = self.rest_at
        end = data.find(_END, rest_at) + len(_END)
        # Compiled code raises an error for a slice that begins behind its end.
        head = self.heads.get(data[rest_at:end]) if rest_at <= end else None
        if head is None or len(data) - end != head.body_bytes:
            return None
        signature = data[self.signature_at : self.signature_at + SIGNATURE_BYTES]
        id = data[self.id_at : self.id_at + _ID_BYTES] if self.id_at >= 0 else b""
        if not signature.isalnum() or (self.id_at >= 0 and not _is_id(id)):
            return None
        return HttpRequest(head, data[end:], True, signature, id)


@final
class HeadCache:
    """The heads of recent requests; one cache per server process."""

    __slots__ = ("_frames", "_heads_count")

    def __init__(self) -> None:
        self._frames: dict[bytes, Frame] = {}
        self._heads_count = 0

    def recall(self, data: bytes, frame: Frame | None = None) -> HttpRequest | None:
        """Return the request in these bytes if they are exactly one request with a known head.

        `frame` is the frame of an earlier request, which is tried first.
        """
        if frame is None or not frame.fits(data):
            end = data.find(_END) + len(_END)
            places = _find_places(data, end)
            if places is None:
                return None
            frame = self._frames.get(places.key(data))
            if frame is None or not frame.fits(data):
                return None
        return frame.read(data)

    def learn(self, data: bytes, request: HttpRequest) -> bool:
        """Cache the head of a request; tell whether the bytes are exactly this request."""
        end = data.find(_END) + len(_END)
        headers = request.head.headers
        if (
            len(data) - end != len(request.body)
            or data[end:] != request.body
            or not request.keep_alive
            or request.refusal is not None
            # One line per header, the request line, and an empty line.
            or data.count(_LINE_END, 0, end) != len(headers) + 2
            or any(name in headers for name in _SPECIAL)
        ):
            return False
        places = _find_places(data, end)
        if (
            places is not None
            and end <= _HEAD_BYTES_MAX
            and _has_signature(data, places.signature_at, headers.get(b"authorization", b""))
            and (places.id_at < 0 or _has_id(data, places.id_at))
        ):
            self._keep(data, places, end, request)
        return True

    def _keep(self, data: bytes, places: _Places, end: int, request: HttpRequest) -> None:
        if self._heads_count >= _HEADS_MAX:
            # Connections still hold frames.
            for frame in self._frames.values():
                frame.heads.clear()
            self._frames.clear()
            self._heads_count = 0
        key = places.key(data)
        known = self._frames.get(key)
        if known is None or not known.fits(data):
            known = self._frames[key] = Frame(data, places)
        head = request.head
        head.body_bytes = len(request.body)
        head.frame = known
        known.heads[data[known.rest_at : end]] = head
        self._heads_count += 1


@final
class _Places:
    """Where the signature and the invocation id of a head are, in order of appearance.

    Without an id, `id_at` is negative and nothing lies between the signature and the rest.
    """

    __slots__ = ("first", "id_at", "middle_at", "rest_at", "second", "signature_at")

    def __init__(self, signature_at: int, id_at: int) -> None:
        self.signature_at, self.id_at = signature_at, id_at
        signature_end, id_end = signature_at + SIGNATURE_BYTES, id_at + _ID_BYTES
        if id_at < 0:
            self.first, self.middle_at = signature_at, signature_end
            self.second, self.rest_at = signature_end, signature_end
        elif id_at < signature_at:
            self.first, self.middle_at = id_at, id_end
            self.second, self.rest_at = signature_at, signature_end
        else:
            self.first, self.middle_at = signature_at, signature_end
            self.second, self.rest_at = id_at, id_end

    def key(self, data: bytes) -> bytes:
        """Return the bytes before and between the two."""
        return data[: self.first] + data[self.middle_at : self.second]


def _find_places(data: bytes, end: int) -> _Places | None:
    """Return where signature and id are in a head; None if they do not fit in."""
    id_at = data.find(_ID, 0, end)
    if id_at >= 0:
        id_at += _ID_SKIPPED
    places = _Places(data.find(_SIGNATURE, 0, end) + len(_SIGNATURE), id_at)
    return places if places.middle_at <= places.second and places.rest_at <= end else None


def _has_signature(data: bytes, sign: int, authorization: bytes) -> bool:
    """Tell whether the signature ends the Authorization header that the parser read."""
    line = _line(data, sign, sign + SIGNATURE_BYTES)
    name, _, value = line.partition(b": ")
    return name.lower() == b"authorization" and value == authorization + _LINE_END


def _has_id(data: bytes, mark: int) -> bool:
    """Tell whether the invocation id is the whole value of its header."""
    line = _line(data, mark, mark + _ID_BYTES)
    id = data[mark : mark + _ID_BYTES]
    return line.lower() == ID_NAME + b": " + id.lower() + _LINE_END


def _line(data: bytes, within: int, end: int) -> bytes:
    """Return the line around a position, up to a given end and its line end."""
    start = data.rfind(_LINE_END, 0, within) + len(_LINE_END)
    return data[start : end + len(_LINE_END)]


def _is_id(id: bytes) -> bool:
    return len(id) == _ID_BYTES and id.translate(None, b"-").isalnum()
