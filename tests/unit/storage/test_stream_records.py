"""Changes as records of a stream."""

import struct

import orjson
import pytest

from hashrange.model.streams import StreamRecord
from hashrange.storage.layout import pack_item
from hashrange.storage.log import BY_SERVICE, INSERT, MODIFY, REMOVE, Change
from hashrange.storage.stream_records import describe_change, sequence_text, split_arn

STREAM = StreamRecord(
    account="123456789012",
    region="eu-west-1",
    table="music",
    label="label",
    view_type="NEW_AND_OLD_IMAGES",
    store="t1.s",
    store_shards=1,
    key_schema=[],
    created_at=0.0,
    settled_at=0.0,
)
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/music/stream/2026-01-01T00:00:00.000"


def test_sequence_numbers_are_in_the_same_order_as_texts():
    numbers = [0, 9, 10, 2**40, 2**63]
    texts = [sequence_text(number) for number in numbers]
    assert texts == sorted(texts)
    assert {len(text) for text in texts} == {21}


def test_an_arn_is_split_into_its_parts():
    assert split_arn(ARN) == ("123456789012", "eu-west-1", "music", "2026-01-01T00:00:00.000")


@pytest.mark.parametrize("arn", ["", "music", ARN.replace("/stream/", "/index/"), ARN + " "])
def test_what_is_no_stream_arn_is_not_split(arn):
    assert split_arn(arn) is None


def change(kind, old=b"", new=b"", flags=0):
    """Return a change as it is read back from the log."""
    keys = pack_item({"p": {"S": "a"}}, 2)
    header = struct.pack("<dBBxxII", 1000.7, kind, flags, len(keys), len(old))
    return Change(b"prefix" + (5).to_bytes(8, "big"), header + keys + old + new)


def described(made):
    return orjson.loads(orjson.dumps(describe_change(STREAM, made)))


def test_a_record_has_the_images_that_were_logged_and_their_size():
    old, new = pack_item({"p": {"S": "old"}}, 4), pack_item({"p": {"S": "newer"}}, 6)
    record = described(change(MODIFY, old, new))
    assert record["eventName"] == "MODIFY"
    assert record["dynamodb"] == {
        "ApproximateCreationDateTime": 1000,
        "Keys": {"p": {"S": "a"}},
        "OldImage": {"p": {"S": "old"}},
        "NewImage": {"p": {"S": "newer"}},
        "SequenceNumber": sequence_text(5),
        "SizeBytes": 12,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }


def test_an_image_that_was_not_logged_is_left_out():
    body = described(change(INSERT))["dynamodb"]
    assert body.keys().isdisjoint(("OldImage", "NewImage"))


def test_the_service_is_named_as_the_author_of_its_own_deletes():
    identity = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    assert described(change(REMOVE, flags=BY_SERVICE))["userIdentity"] == identity
    assert "userIdentity" not in described(change(REMOVE))
