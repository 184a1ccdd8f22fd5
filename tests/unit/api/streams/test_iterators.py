"""Shard iterators as clients hold them."""

import pytest

from hashrange.api.streams.iterators import ShardIterator, read_sequence
from hashrange.errors import ExpiredIteratorException, ValidationException
from hashrange.limits import SHARD_ITERATOR_SECONDS
from hashrange.storage.stream_records import sequence_text

NOW = 1_800_000_000.5
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/music/stream/label"


@pytest.mark.parametrize("from_horizon", [True, False])
def test_an_iterator_comes_back_as_it_was_given_out(from_horizon):
    packed = ShardIterator(ARN, 7, 2**40, NOW, from_horizon=from_horizon).pack()
    found = ShardIterator.unpack(packed, NOW)
    assert (found.arn, found.shard, found.position, found.time) == (ARN, 7, 2**40, NOW)
    assert found.from_horizon is from_horizon


def test_an_iterator_expires():
    packed = ShardIterator(ARN, 0, 0, NOW).pack()
    ShardIterator.unpack(packed, NOW + SHARD_ITERATOR_SECONDS)
    with pytest.raises(ExpiredIteratorException):
        ShardIterator.unpack(packed, NOW + SHARD_ITERATOR_SECONDS + 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text + "|",
        lambda text: text[:-4],
        lambda text: text.replace("|1|", "|2|"),
        lambda text: text.replace("music", "other"),
        lambda text: text.replace("|1|", "|1|!"),
    ],
)
def test_a_damaged_iterator_is_refused(damage):
    with pytest.raises(ValidationException, match="Invalid ShardIterator"):
        ShardIterator.unpack(damage(ShardIterator(ARN, 0, 5, NOW).pack()), NOW)


def test_sequence_numbers_are_read_as_they_are_written():
    assert read_sequence(sequence_text(42)) == 42
    assert read_sequence("0") < 0
    for text in ("", "x", "-1", "٣"):
        with pytest.raises(ValidationException, match="Invalid SequenceNumber"):
            read_sequence(text)
