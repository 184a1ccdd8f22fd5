"""The order of key bytes is the order of values, and decoding undoes encoding."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from hashrange.model import comparison, keys, values
from hashrange.model.schema import KeyPart
from hashrange.model.values import Value


def canonical(number: tuple[int, int]) -> Value:
    digits, exponent = number
    value: Value = {"N": f"{digits}e{exponent}"}
    values.check_value(value)
    return value


# Few distinct characters and digits, so that values share beginnings.
strings = st.one_of(st.text("\0\1ab\xff\uffff\U00010000", max_size=6), st.text()).map(
    lambda text: {"S": text}
)
binaries = st.one_of(
    st.lists(st.sampled_from([0, 1, 254, 255]), max_size=6).map(bytes), st.binary()
).map(lambda content: {"B": b64encode(content).decode()})
numbers = st.one_of(
    st.tuples(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-130, 88)),
    st.tuples(st.sampled_from([-120, -12, -11, -2, -1, 0, 1, 2, 11, 12, 120]), st.integers(-3, 3)),
).map(canonical)
pairs = st.one_of(
    *(st.tuples(st.just(t), v, v) for t, v in (("S", strings), ("B", binaries), ("N", numbers)))
)
parts = st.one_of(
    *(st.tuples(st.just(t), v) for t, v in (("S", strings), ("B", binaries), ("N", numbers)))
)


@given(pairs)
def test_order_of_encodings_is_order_of_values(pair: tuple[str, Value, Value]) -> None:
    type, left, right = pair
    low, high = keys.encode_part(type, left), keys.encode_part(type, right)
    assert (low > high) - (low < high) == comparison.compare(left, right)


@given(pairs)
def test_no_encoding_is_the_beginning_of_another(pair: tuple[str, Value, Value]) -> None:
    type, left, right = pair
    low, high = keys.encode_part(type, left), keys.encode_part(type, right)
    assert low == high or not (low.startswith(high) or high.startswith(low))


@given(st.lists(parts, min_size=1, max_size=2))
def test_decoding_undoes_encoding(chosen: list[tuple[str, Value]]) -> None:
    schema = tuple(KeyPart(str(i), type) for i, (type, _) in enumerate(chosen))
    item = {str(i): value for i, (_, value) in enumerate(chosen)}
    key = keys.item_key(schema, item)
    assert keys.decode_key([type for type, _ in chosen], key) == list(item.values())
    assert key[:4] == keys.placement(keys.hashed_content(schema[0].type, item["0"]))


@given(strings, strings)
def test_prefix_range_is_begins_with(prefix: Value, value: Value) -> None:
    start = keys.prefix_part("S", prefix)
    inside = (
        b"hash" + start <= b"hash" + keys.encode_part("S", value) < keys.successor(b"hash" + start)
    )
    assert inside == value["S"].startswith(prefix["S"])


@given(binaries, binaries)
def test_prefix_range_is_begins_with_for_bytes(prefix: Value, value: Value) -> None:
    start = b"hash" + keys.prefix_part("B", prefix)
    inside = start <= b"hash" + keys.encode_part("B", value) < keys.successor(start)
    decoded = [keys.decode_key("B", b"hash" + keys.encode_part("B", v))[0] for v in (prefix, value)]
    assert decoded == [prefix, value]
    begins = keys.prefix_part("B", value).startswith(keys.prefix_part("B", prefix))
    assert inside == begins


@given(st.binary(max_size=8), st.binary(max_size=8))
def test_successor_is_above_all_that_starts_with_the_prefix(prefix: bytes, rest: bytes) -> None:
    assert keys.successor(prefix) > prefix + rest


@given(numbers, numbers)
def test_order_of_numbers_agrees_with_decimal(left: Value, right: Value) -> None:
    low, high = Decimal(left["N"]), Decimal(right["N"])
    assert comparison.compare(left, right) == (low > high) - (low < high)
