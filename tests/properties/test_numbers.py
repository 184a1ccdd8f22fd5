"""Numbers against the decimal module."""

from __future__ import annotations

from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.errors import ValidationException
from hashrange.model import numbers

EXACT = Context(prec=400)

digits = st.text("0123456789", min_size=1, max_size=45)
spellings = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.one_of(st.just(""), digits.map(".{}".format)),
    st.one_of(st.just(""), st.integers(-140, 140).map("e{}".format)),
)


def is_storable(value: Decimal) -> bool:
    return len(EXACT.normalize(value).as_tuple().digits) <= 38 and -130 <= value.adjusted() <= 125


@given(spellings)
def test_normalizing_keeps_the_value_or_refuses_what_cannot_be_stored(text: str) -> None:
    value = Decimal(text)
    if is_storable(value):
        canonical = numbers.normalize(text)
        assert Decimal(canonical) == value
        assert numbers.normalize(canonical) == canonical
        assert canonical == (format(EXACT.normalize(value), "f") if value else "0")
    else:
        with pytest.raises(ValidationException):
            numbers.normalize(text)
        assert numbers.older_refusal(text)


@given(st.text())
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        assert Decimal(numbers.normalize(text)).is_finite()
    except ValidationException:
        assert numbers.older_refusal(text)


canonical_numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.tuples(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-130, 88)).map(
        lambda pair: numbers.normalize(f"{pair[0]}e{pair[1]}")
    ),
)


@given(canonical_numbers, canonical_numbers)
def test_arithmetic_is_exact_or_refused(left: str, right: str) -> None:
    for operation, exact in (
        (numbers.add, EXACT.add(Decimal(left), Decimal(right))),
        (numbers.subtract, EXACT.subtract(Decimal(left), Decimal(right))),
    ):
        if exact == 0 or is_storable(exact):
            result = operation(left, right)
            assert Decimal(result) == exact
            assert numbers.normalize(result) == result
        else:
            with pytest.raises(ValidationException):
                operation(left, right)


@given(canonical_numbers)
def test_size_counts_base_100_digits(text: str) -> None:
    sign, mantissa, exponent = EXACT.normalize(Decimal(text)).as_tuple()
    assert isinstance(exponent, int)
    if text == "0":
        assert numbers.size(text) == 1
        return
    # Align the last digit to an even power of ten, then count pairs from the right.
    length = len(mantissa) + exponent % 2
    assert numbers.size(text) == min(1 + (length + 1) // 2 + sign, 21)
