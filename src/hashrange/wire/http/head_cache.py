"""Heads of requests that were read before, so that they need not be read again.

The requests of a client have the same head, but for a signature and an id that the SDKs give to
each. A head is remembered without those two; one that is the same otherwise means the same. Not to
parse it saves 11 % of the instructions of a GetItem, 14 % compiled; to keep what the server reads
in it, too (see `messages.Head`), 10 % more.

Invariant: what `recall` returns is what the parser reads in the same bytes. For that, what is put
in place of the two parts must be letters, digits and hyphens, which mean nothing to a parser; and
they must stand where they stood, which is behind the first place in the head that announces them.
"""

from __future__ import annotations

from typing import Final, final

from hashrange.wire.http.messages import ID_NAME, SIGNATURE_BYTES, Head, HttpRequest

_END: Final = b"\r\n\r\n"
_LINE_END: Final = b"\r\n"
_SIGNATURE: Final = b"Signature="
# Go writes its header names in title case, others in lower case; these letters are the same.
_ID: Final = b"nvocation-"
_ID_SKIPPED: Final = len(b"nvocation-id: ")
_ID_BYTES: Final = 36
# Each with a few kilobytes at most. The date in a head changes every second, so it is old soon.
_HEADS_MAX: Final = 512
_HEAD_BYTES_MAX: Final = 2048
# Requests with these need more than their head and body.
_SPECIAL: Final = (b"expect", b"transfer-encoding", b"upgrade")


@final
class HeadCache:
    """The heads seen lately; one per server process."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, Head] = {}

    def recall(self, data: bytes) -> HttpRequest | None:
        """Return the request that these bytes are, if they are one with a head seen before."""
        end = data.find(_END) + len(_END)
        sign = data.find(_SIGNATURE, 0, end) + len(_SIGNATURE)
        mark = data.find(_ID, 0, end)
        if mark >= 0:
            mark += _ID_SKIPPED
        head = self._heads.get(_without(data, sign, mark, end))
        if head is None or len(data) - end != head.body_bytes:
            return None
        signature = data[sign : sign + SIGNATURE_BYTES]
        id = data[mark : mark + _ID_BYTES] if mark >= 0 else b""
        if not signature.isalnum() or (mark >= 0 and not _is_id(id)):
            return None
        return HttpRequest(head, data[end:], True, signature, id)

    def learn(self, data: bytes, request: HttpRequest) -> bool:
        """Remember a head; tell whether the bytes are this request, and nothing else."""
        end = data.find(_END) + len(_END)
        headers = request.head.headers
        if (
            len(data) - end != len(request.body)
            or data[end:] != request.body
            or not request.keep_alive
            or request.refusal is not None
            # The line of the request, and an empty one.
            or data.count(_LINE_END, 0, end) != len(headers) + 2
            or any(name in headers for name in _SPECIAL)
        ):
            return False
        sign = data.find(_SIGNATURE, 0, end) + len(_SIGNATURE)
        mark = data.find(_ID, 0, end)
        if mark >= 0:
            mark += _ID_SKIPPED
        key = _without(data, sign, mark, end)
        if (
            key
            and end <= _HEAD_BYTES_MAX
            and _has_signature(data, sign, headers.get(b"authorization", b""))
            and (mark < 0 or _has_id(data, mark))
        ):
            if len(self._heads) >= _HEADS_MAX:
                self._heads.clear()
            request.head.body_bytes = len(request.body)
            self._heads[key] = request.head
        return True


def _without(data: bytes, sign: int, mark: int, end: int) -> bytes:
    """Return a head without its signature and its id, if it has one; nothing unless they fit in.

    A slice must not begin behind its end: compiled, that is an error instead of nothing.
    """
    signed = sign + SIGNATURE_BYTES
    marked = mark + _ID_BYTES
    if mark < 0:
        return data[:sign] + data[signed:end] if signed <= end else b""
    if marked <= sign and signed <= end:
        return data[:mark] + data[marked:sign] + data[signed:end]
    if signed <= mark and marked <= end:
        return data[:sign] + data[signed:mark] + data[marked:end]
    return b""


def _has_signature(data: bytes, sign: int, authorization: bytes) -> bool:
    """Tell whether the header with the signature ends with it, and is what the parser read."""
    line = _line(data, sign, sign + SIGNATURE_BYTES)
    name, _, value = line.partition(b": ")
    return name.lower() == b"authorization" and value == authorization + _LINE_END


def _has_id(data: bytes, mark: int) -> bool:
    """Tell whether the header with the id is the one of SDKs, and nothing but the id."""
    line = _line(data, mark, mark + _ID_BYTES)
    id = data[mark : mark + _ID_BYTES]
    return line.lower() == ID_NAME + b": " + id.lower() + _LINE_END


def _line(data: bytes, within: int, end: int) -> bytes:
    """Return the line that a place is in; the end of it too if it is the end given."""
    start = data.rfind(_LINE_END, 0, within) + len(_LINE_END)
    return data[start : end + len(_LINE_END)]


def _is_id(id: bytes) -> bool:
    return len(id) == _ID_BYTES and id.translate(None, b"-").isalnum()
