"""XML documents: what is read and what must be refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.errors import SerializationException
from hashrange.limits import CALL_ITEMS_MAX, CALL_LEVELS_MAX
from hashrange.wire.protocols.xml_document import escape, read_document

BOMB = b"""<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<b>&b;</b>"""


def test_names_lose_their_prefixes_and_name_spaces():
    root = read_document(b'<a xmlns="urn:x" xmlns:y="urn:y"><y:b y:kind="k">text</y:b><b/></a>')
    assert root.name == "a"
    assert [child.name for child in root.children] == ["b", "b"]
    assert root.children[0].text == "text"
    assert root.children[0].attributes == {"kind": "k"}


def test_text_between_children_is_dropped_and_long_text_is_kept():
    root = read_document(b"<a> x <b>" + b"y" * 100_000 + b"&amp;</b> z </a>")
    assert root.text == ""
    assert root.children[0].text == "y" * 100_000 + "&"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"text",
        b"<a>",
        b"<a></b>",
        b"<a/><b/>",
        b"<a>&unknown;</a>",
        BOMB,
        BOMB.decode().encode("utf-16"),
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * (CALL_LEVELS_MAX + 1) + b"</a>" * (CALL_LEVELS_MAX + 1),
        b"<a>" + b"<b/>" * CALL_ITEMS_MAX + b"</a>",
    ],
)
def test_malformed_dangerous_and_oversized_documents_are_refused(body):
    with pytest.raises(SerializationException):
        read_document(body)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")))
def test_escaped_text_is_read_back(text):
    assert read_document(f"<a>{escape(text)}</a>".encode()).text == text


def test_characters_that_xml_cannot_hold_are_replaced():
    assert escape("a\0b\x1f\ud800") == "a\ufffdb\ufffd\ufffd"
