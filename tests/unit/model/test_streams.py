"""Streams and their shards: how they open, split, close and are remembered."""

import itertools

import pytest

from hashrange.errors import CorruptionError
from hashrange.limits import STREAM_RETENTION_SECONDS
from hashrange.model.streams import (
    PLACEMENT_COUNT,
    StreamRecord,
    stream_label,
    unpack_stream,
)

NOW = 1_800_000_000.25


def stream(store_shards=1):
    return StreamRecord(
        account="123456789012",
        region="eu-west-1",
        table="music",
        label="label",
        view_type="NEW_IMAGE",
        store="t1.s",
        store_shards=store_shards,
        key_schema=[],
        created_at=NOW,
        settled_at=NOW + 1,
    )


@pytest.mark.parametrize("store_shards", [1, 3, 16])
def test_the_first_shards_cover_every_placement_once(store_shards):
    opened = stream(store_shards).open_first(NOW)
    assert opened[0].first == 0
    assert opened[-1].upper == PLACEMENT_COUNT
    assert all(one.upper == next_.first for one, next_ in itertools.pairwise(opened))


def test_children_share_the_range_of_their_parent_and_come_after_it():
    made = stream()
    (parent,) = made.open_first(NOW)
    children = made.replace(parent, 2, NOW)
    assert parent.closed_at == NOW
    assert [(child.first, child.upper) for child in children] == [
        (0, PLACEMENT_COUNT // 2),
        (PLACEMENT_COUNT // 2, PLACEMENT_COUNT),
    ]
    assert all(child.parent == parent.id < child.id for child in children)
    assert made.open_shards() == children


def test_a_disabled_stream_closes_its_shards_and_is_kept_for_a_day():
    made = stream()
    (shard,) = made.open_first(NOW)
    assert [made.status(NOW), made.status(NOW + 1)] == ["ENABLING", "ENABLED"]
    assert made.disable(NOW + 5, NOW + 6) == [shard]
    assert [made.status(NOW + 5), made.status(NOW + 6)] == ["DISABLING", "DISABLED"]
    end = NOW + 5 + STREAM_RETENTION_SECONDS
    assert [kept.is_kept(end - 1) for kept in (made, shard)] == [True, True]
    assert [kept.is_kept(end) for kept in (made, shard)] == [False, False]
    assert not made.open_shards()


def test_a_label_is_a_time_with_milliseconds():
    assert stream_label(NOW) == "2027-01-15T08:00:00.250"


def test_a_stream_comes_back_from_its_row():
    made = stream()
    made.open_first(NOW)
    assert unpack_stream(made.pack()) == made
    assert made.arn == "arn:aws:dynamodb:eu-west-1:123456789012:table/music/stream/label"
    assert made.space == "t1"


@pytest.mark.parametrize("row", [b"", b"{}", b'{"format": 99}', b'{"format": 2, "stream": {}}'])
def test_a_row_that_is_no_stream_is_corruption(row):
    with pytest.raises(CorruptionError):
        unpack_stream(row)
