"""Numbers: spelling, limits, size and arithmetic as AWS does them."""

from __future__ import annotations

import pytest

from hashrange.errors import ValidationException
from hashrange.model import numbers

NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"
OVERFLOW = (
    "Number overflow. Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "Number underflow. Attempting to store a number with magnitude smaller than supported range"
)
TOO_MANY_DIGITS = "Attempting to store more than 38 significant digits in a Number"
NINES = "9" * 38


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("-0.00", "0"),
        ("0e125", "0"),
        ("+7", "7"),
        ("00042", "42"),
        ("1.0", "1"),
        ("3.1400", "3.14"),
        ("0042.1200", "42.12"),
        ("1.5E2", "150"),
        ("1e2", "100"),
        ("1E-2", "0.01"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-12.50e+1", "-125"),
        ("100", "100"),
        ("1" + "0" * 60, "1" + "0" * 60),
        ("1E125", "1" + "0" * 125),
        ("-9.9999999999999999999999999999999999999E+125", "-" + NINES + "0" * 88),
        ("1e-130", "0." + "0" * 129 + "1"),
        ("0." + "0" * 5000 + "e4990", "0"),
        ("1e000000000000000000000000002", "100"),
    ],
)
def test_every_spelling_has_one_canonical_text(text: str, canonical: str) -> None:
    assert numbers.normalize(text) == canonical
    assert numbers.normalize(canonical) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, f"{NOT_A_NUMBER}: {text}")
            for text in (
                "abc", "", " 1", "1 ", "1.2.3", "0x10", "1e", "NaN", "Infinity", "1_000", ".", "-",
                "1\n", "１２", "1e9223372036854775808", "1e" + "9" * 5000,
            )
        ),
        ("1e126", OVERFLOW),
        ("-1e126", OVERFLOW),
        ("1e2147483647", OVERFLOW),
        ("1e99999999999", OVERFLOW),
        ("0e126", OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("1e-2147483648", UNDERFLOW),
        ("0e-131", UNDERFLOW),
        ("123456789012345678901234567890123456789", TOO_MANY_DIGITS),
        ("-1.23456789012345678901234567890123456789", TOO_MANY_DIGITS),
        ("9" * 5000, TOO_MANY_DIGITS),
    ],
)  # fmt: skip
def test_what_cannot_be_stored_is_refused_in_the_words_of_aws(text: str, message: str) -> None:
    with pytest.raises(ValidationException) as caught:
        numbers.normalize(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", f"{NOT_A_NUMBER}: abc"),
        ("", NOT_A_NUMBER),
        ("1e126", OVERFLOW),
        ("1e-131", UNDERFLOW),
        ("1e2147483647", UNDERFLOW),
        ("1e2147483648", f"{NOT_A_NUMBER}: 1e2147483648"),
        ("1e-2147483648", f"{NOT_A_NUMBER}: 1e-2147483648"),
        ("1e99999999999", f"{NOT_A_NUMBER}: 1e99999999999"),
        ("9" * 39, TOO_MANY_DIGITS),
    ],
)
def test_older_checks_read_numbers_as_java_does(text: str, message: str) -> None:
    assert numbers.older_refusal(text) == message


@pytest.mark.parametrize(
    ("text", "size"),
    [
        # Measured at the 400 KB boundary of the service.
        ("0", 1), ("1", 2), ("12", 2), ("123", 3), ("1234", 3), ("0042", 2), ("100", 2),
        ("12345678901234567890123456789012345678", 20), ("1010", 3), ("0.0000001", 2),
        ("1E125", 2), ("1E-100", 2), ("1.5", 3), ("15", 2), ("1.2", 3), ("1.200", 3),
        ("1.234", 4), ("3.14159", 5), ("123456", 4), ("100.5", 4), ("0.15", 2), ("-42", 3),
        ("-0", 1),
        # Pairs are counted off from the decimal point.
        ("10", 2), ("120", 3), ("0.012", 3), ("0.05", 2), ("20.5", 3), ("-0.5", 3),
        # A number is never longer than 21 bytes.
        ("1.2345678901234567890123456789012345678", 21),
        ("-1.2345678901234567890123456789012345678", 21),
    ],
)  # fmt: skip
def test_size_is_a_byte_and_one_for_each_base_100_digit(text: str, size: int) -> None:
    assert numbers.size(numbers.normalize(text)) == size


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("1", "2", "3"),
        ("-5", "5", "0"),
        ("0.1", "0.2", "0.3"),
        ("1.5", "-0.5", "1"),
        (NINES, "1", "1" + "0" * 38),
        ("1" + "0" * 125, "8" + "0" * 125, "9" + "0" * 125),
    ],
)
def test_addition_is_exact(left: str, right: str, total: str) -> None:
    assert numbers.add(left, right) == total
    assert numbers.subtract(total, right) == left


def test_sum_out_of_range_overflows() -> None:
    largest = NINES + "0" * 88
    with pytest.raises(ValidationException, match="Number overflow"):
        numbers.add(largest, largest)
    with pytest.raises(ValidationException, match="Number overflow"):
        numbers.subtract("-" + largest, largest)


def test_sum_of_too_many_digits_is_refused() -> None:
    with pytest.raises(ValidationException, match="Number overflow"):
        numbers.add("1" + "0" * 38, "1")
    with pytest.raises(ValidationException, match="Number overflow"):
        numbers.add("1" + "0" * 125, "0." + "0" * 129 + "1")


def test_comparison_is_by_value() -> None:
    ordered = ["-100", "-9", "-0.5", "0", "0.05", "0.5", "1", "1.5", "9", "10"]
    ordered += ["11", "90", "100", "1" + "0" * 125]
    for position, left in enumerate(ordered):
        for other, right in enumerate(ordered):
            assert numbers.compare(left, right) == (position > other) - (position < other)
