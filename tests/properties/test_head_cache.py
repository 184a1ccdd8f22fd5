"""What is recalled is what the parser reads in the same bytes, whatever was changed in them."""

from __future__ import annotations

from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hashrange.wire.http.head_cache import HeadCache
from hashrange.wire.http.messages import Head, HttpRequest

_CREDENTIAL = (
    b"AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/dynamodb/aws4_request, "
    b"SignedHeaders=host, Signature="
)


class _Reader:
    """Reads requests with the parser alone."""

    def __init__(self, data: bytes) -> None:
        self.requests: list[HttpRequest] = []
        self._parser = HttpRequestParser(self)
        self._begin()
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.requests = []

    def _begin(self) -> None:
        self._url, self._body = b"", b""
        self._headers: dict[bytes, bytes] = {}
        self._is_head = True

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head:
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._is_head = False

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        parser = self._parser
        head = Head(parser.get_method(), self._url, self._headers)
        self.requests.append(HttpRequest(head, self._body, parser.should_keep_alive()))
        self._begin()


_READ_IN_HEADS = (
    "method",
    "url",
    "is_call",
    "content_type",
    "target",
    "origin",
    "is_encoded",
)


def _shown(request: HttpRequest) -> dict[str, Any]:
    shown = {name: getattr(request, name) for name in ("headers", "body", "keep_alive", "refusal")}
    return shown | {name: getattr(request.head, name) for name in _READ_IN_HEADS}


_SIGNATURE_BYTES = 64
_ID_BYTES = 36
# Few different ones, so that two places often hold the same.
_FILLINGS = {
    b"%SIGNATURE%": _SIGNATURE_BYTES,
    b"%OTHER-SIGNATURE%": _SIGNATURE_BYTES,
    b"%ID%": _ID_BYTES,
    b"%OTHER-ID%": _ID_BYTES,
}
_FOREIGN = [
    b"\r\nExpect: 100-continue\r\nX: ",
    b"\r\nX: ",
    b"\r\n\r\n",
    b"\r\n ",
    b"\0",
    b" ",
    b"-",
]
_OTHER_LINES = [
    b"Host: localhost",
    b"Connection: close",
    b"Connection: Upgrade",
    b"Upgrade: h2c",
    b"Expect: 100-continue",
    b"Transfer-Encoding: chunked",
    b"Content-Length: 0",
    b"host: here",
    b"X-Signature: Signature=%OTHER-SIGNATURE%",
    b"Authorization: " + _CREDENTIAL + b"%OTHER-SIGNATURE%",
    b"X-Authorization: " + _CREDENTIAL + b"%OTHER-SIGNATURE%",
    b"X-Invocation-Id: %OTHER-ID%",
    b"amz-sdk-invocation-id:%OTHER-ID%",
]

Fillings = dict[bytes, bytes]


def _of_size(size: int) -> st.SearchStrategy[bytes]:
    return st.sampled_from([letter * size for letter in (b"a", b"7")])


def _spoilt(size: int) -> st.SearchStrategy[bytes]:
    places = st.tuples(_of_size(size), st.integers(0, size), st.sampled_from(_FOREIGN))
    return places.map(lambda place: (place[0][: place[1]] + place[2] + place[0])[:size])


fillings = st.fixed_dictionaries({name: _of_size(size) for name, size in _FILLINGS.items()})
changed_fillings = st.one_of(
    fillings,
    *(
        st.tuples(fillings, st.just(name), _spoilt(size)).map(
            lambda some: {**some[0], some[1]: some[2]}
        )
        for name, size in _FILLINGS.items()
    ),
)
changes = st.none() | st.tuples(
    st.integers(0, 500), st.integers(0, 3), st.sampled_from(_FOREIGN) | st.binary(max_size=2)
)


@st.composite
def templates(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """The head of a request with places for signatures and ids, and its body."""
    body = draw(st.sampled_from([b"", b"{}", b"0\r\n\r\n"]))
    name = draw(st.sampled_from([b"Authorization: ", b"authorization: ", b"X-Authorization: "]))
    lines = [name + _CREDENTIAL + b"%SIGNATURE%"]
    id_line = draw(st.sampled_from([b"", b"amz-sdk-invocation-id: ", b"Amz-Sdk-Invocation-Id: "]))
    if id_line:
        lines.append(id_line + b"%ID%")
    if body:
        lines.append(b"Content-Length: %d" % len(body))
    lines += draw(st.lists(st.sampled_from(_OTHER_LINES), max_size=2, unique=True))
    start = draw(st.sampled_from([b"POST / HTTP/1.1", b"POST / HTTP/1.1", b"POST / HTTP/1.0"]))
    return b"\r\n".join([start, *draw(st.permutations(lines))]) + b"\r\n\r\n", body


def _filled(template: bytes, filling: Fillings) -> bytes:
    for name, content in filling.items():
        template = template.replace(name, content)
    return template


def _learned(data: bytes) -> HeadCache:
    heads = HeadCache()
    requests = _Reader(data).requests
    if len(requests) == 1:
        heads.learn(data, requests[0])
    return heads


_PLAIN = (
    b"POST / HTTP/1.1\r\nHost: localhost\r\nauthorization: "
    + _CREDENTIAL
    + b"%SIGNATURE%\r\nContent-Length: 2\r\n"
    b"Amz-Sdk-Invocation-Id: %ID%\r\n\r\n"
)


@given(fillings, fillings, st.booleans())
def test_only_signature_and_id_may_differ(
    filling: Fillings, other_filling: Fillings, has_id: bool
) -> None:
    template = _PLAIN if has_id else _PLAIN.replace(b"Amz-Sdk-Invocation-Id: %ID%\r\n", b"")
    heads = _learned(_filled(template, filling) + b"{}")
    data = _filled(template, other_filling) + b"[]"
    recalled = heads.recall(data)
    assert recalled is not None
    assert _shown(recalled) == _shown(_Reader(data).requests[0])
    assert heads.recall(data + b" ") is None
    assert heads.recall(data[:-1]) is None
    assert heads.recall(data.replace(b"localhost", b"localhosts")) is None


def _of(letter: bytes) -> Fillings:
    return {name: letter * size for name, size in _FILLINGS.items()}


_AUTHORIZATION = b"Authorization: " + _CREDENTIAL + b"%SIGNATURE%\r\n"
_OTHER = _AUTHORIZATION.replace(b"%S", b"%OTHER-S")
_EXAMPLES = [
    # The signature seems to stand in another header, or in two of the same name.
    b"POST / HTTP/1.1\r\nX-" + _OTHER + _AUTHORIZATION + b"\r\n",
    b"POST / HTTP/1.1\r\n" + _OTHER + _AUTHORIZATION + b"\r\n",
    # It is longer than usual, or shorter and followed by blanks, which are no part of it.
    b"POST / HTTP/1.1\r\n" + _AUTHORIZATION.replace(b"URE%", b"URE%0") + b"\r\n",
    b"POST / HTTP/1.1\r\n" + _AUTHORIZATION.replace(b"%SIG", b"ab %SIG") + b"\r\n",
]


@settings(max_examples=2000)
@given(templates(), fillings, changed_fillings, changes)
@example((_EXAMPLES[0], b""), _of(b"a"), {**_of(b"a"), b"%OTHER-SIGNATURE%": b"b" * 64}, None)
@example((_EXAMPLES[1], b""), _of(b"a"), {**_of(b"a"), b"%OTHER-SIGNATURE%": b"b" * 64}, None)
@example((_EXAMPLES[2], b""), _of(b"a"), _of(b"b"), None)
@example((_EXAMPLES[3], b""), _of(b"a"), _of(b"b"), None)
@example((_PLAIN, b"{}"), {**_of(b"a"), b"%SIGNATURE%": b"a" * 62 + b"  "}, _of(b"b"), None)
def test_what_is_recalled_is_what_the_parser_reads(
    template: tuple[bytes, bytes],
    filling: Fillings,
    other_filling: Fillings,
    change: tuple[int, int, bytes] | None,
) -> None:
    head, body = template
    heads = _learned(_filled(head, filling) + body)
    data = _filled(head, other_filling) + body
    if change is not None:
        start, length, put = change
        data = data[:start] + put + data[start + length :]
    recalled = heads.recall(data)
    if recalled is not None:
        assert [_shown(request) for request in _Reader(data).requests] == [_shown(recalled)]


@settings(max_examples=300)
@given(templates(), fillings, st.integers(0, 500))
def test_only_a_whole_request_leaves_the_parser_at_a_start(
    template: tuple[bytes, bytes], filling: Fillings, cut: int
) -> None:
    head, body = template
    whole = _filled(head, filling) + body
    for data in (whole, whole[:cut], whole + whole[:cut]):
        requests = _Reader(data).requests
        if requests and HeadCache().learn(data, requests[-1]):
            assert data == whole
            assert len(requests) == 1
