"""CBOR: the examples of RFC 8949 that the protocol uses, and what must be refused."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.errors import SerializationException
from hashrange.limits import CALL_ITEMS_MAX, CALL_LEVELS_MAX
from hashrange.wire.protocols import cbor

# Appendix A of the RFC.
EXAMPLES = [
    ("00", 0),
    ("17", 23),
    ("1818", 24),
    ("1903e8", 1000),
    ("1b000000e8d4a51000", 1000000000000),
    ("20", -1),
    ("3903e7", -1000),
    ("f97bff", 65504.0),
    ("fa47c35000", 100000.0),
    ("fb3ff199999999999a", 1.1),
    ("f97c00", math.inf),
    ("f4", False),
    ("f5", True),
    ("f6", None),
    ("f7", None),
    ("40", b""),
    ("4401020304", b"\1\2\3\4"),
    ("6449455446", "IETF"),
    ("62c3bc", "ü"),
    ("80", []),
    ("8301820203820405", [1, [2, 3], [4, 5]]),
    ("a26161016162820203", {"a": 1, "b": [2, 3]}),
    ("5f42010243030405ff", b"\1\2\3\4\5"),
    ("7f657374726561646d696e67ff", "streaming"),
    ("9fff", []),
    ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]),
    ("bf61610161629f0203ffff", {"a": 1, "b": [2, 3]}),
    ("c11a514b67b0", datetime(2013, 3, 21, 20, 4, tzinfo=UTC)),
    ("c1fb41d452d9ec200000", datetime(2013, 3, 21, 20, 4, 0, 500000, tzinfo=UTC)),
    ("d74401020304", b"\1\2\3\4"),
]
MALFORMED = [
    "",  # nothing
    "18",  # a number that ends early
    "1c",  # a reserved length
    "1f",  # a number of indefinite length
    "62c328",  # text that is not UTF-8
    "6449",  # text that ends early
    "5f01ff",  # a number as a part of bytes
    "5f5f4101ffff",  # an indefinite part
    "8201",  # an array that ends early
    "9f01",  # an array without end
    "a1616101ff",  # bytes behind the value
    "a10102",  # a key that is not text
    "c16161",  # a time that is not a number
    "c1f97e00",  # a time that is not finite
    "f8ff",  # an unknown simple value
    "ff",  # a break that ends nothing
]

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(("encoded", "value"), EXAMPLES)
def test_the_examples_of_the_standard_are_read(encoded, value):
    assert cbor.decode(bytes.fromhex(encoded)) == value


@pytest.mark.parametrize("encoded", MALFORMED)
def test_what_is_not_cbor_is_refused(encoded):
    with pytest.raises(SerializationException):
        cbor.decode(bytes.fromhex(encoded))


@given(values)
def test_what_is_written_is_read_back(value):
    assert cbor.decode(cbor.encode(value)) == value


def test_times_are_tagged_and_whole_seconds_are_integers():
    whole = datetime(2013, 3, 21, 20, 4, tzinfo=UTC)
    assert cbor.encode(whole) == bytes.fromhex("c11a514b67b0")
    half = whole.replace(microsecond=500_000)
    assert cbor.encode(half) == bytes.fromhex("c1fb41d452d9ec200000")


def test_a_length_beyond_the_input_allocates_nothing():
    for head in ("5b", "7b", "9b", "bb"):
        with pytest.raises(SerializationException):
            cbor.decode(bytes.fromhex(head + "7fffffffffffffff"))


def test_nesting_and_the_number_of_values_are_bounded():
    with pytest.raises(SerializationException, match="deep"):
        cbor.decode(b"\x81" * (CALL_LEVELS_MAX + 1) + b"\0")
    with pytest.raises(SerializationException, match="many"):
        cbor.decode(b"\x9f" + b"\x80" * CALL_ITEMS_MAX + b"\xff")


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(body):
    try:
        outcome = repr(cbor.decode(body))
    except SerializationException as refusal:
        outcome = refusal.message
    assert outcome
