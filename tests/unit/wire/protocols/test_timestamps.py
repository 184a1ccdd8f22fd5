"""Timestamps in the three forms of the protocols."""

from datetime import UTC, datetime

import pytest

from hashrange.errors import SerializationException
from hashrange.wire.protocols import timestamps

TIME = datetime(2024, 2, 29, 12, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-29T12:30:15Z",
        "2024-02-29T12:30:15.000Z",
        "2024-02-29T13:30:15+01:00",
        "2024-02-29T12:30:15",
        "Thu, 29 Feb 2024 12:30:15 GMT",
        "1709209815",
        "1709209815.0",
        "1.709209815E9",
    ],
)
def test_every_form_is_read(text):
    assert timestamps.read_text(text) == TIME


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2024-13-01T00:00:00Z", "1e400", "9" * 30, "9" * 99]
)
def test_other_texts_are_refused(text):
    with pytest.raises(SerializationException):
        timestamps.read_text(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300, True])
def test_numbers_that_are_no_time_are_refused(number):
    with pytest.raises(SerializationException):
        timestamps.read_number(number)


def test_milliseconds_are_kept_and_finer_parts_are_not():
    assert timestamps.read_number(1709209815.1239).microsecond == 124_000
    fine = TIME.replace(microsecond=123_999)
    assert timestamps.to_epoch(fine) == 1709209815.123
    assert timestamps.write_text(fine, timestamps.ISO_8601) == "2024-02-29T12:30:15.123Z"


def test_every_form_is_written():
    assert timestamps.write_text(TIME, timestamps.ISO_8601) == "2024-02-29T12:30:15Z"
    assert timestamps.write_text(TIME, timestamps.HTTP_DATE) == "Thu, 29 Feb 2024 12:30:15 GMT"
    assert timestamps.write_text(TIME, timestamps.EPOCH_SECONDS) == "1709209815"
    assert timestamps.to_epoch(TIME) == 1709209815
    assert isinstance(timestamps.to_epoch(TIME), int)
