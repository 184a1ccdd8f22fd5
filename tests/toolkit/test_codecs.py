"""Attributes are compressed, encrypted or kept in S3 on their way to the table, and come back."""

import os
from typing import Any

import pytest

from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.tables import TableClient
from hashrange.toolkit.codecs.compression import Compression
from hashrange.toolkit.codecs.encryption import Encryption
from hashrange.toolkit.codecs.large_values import LargeValues
from hashrange.toolkit.errors import ConversionError, DesignError
from tests.harness.presence import there
from tests.toolkit.test_client import KEY, SCHEMA

TEXT = "all work and no play " * 200
VALUES = {
    "text": TEXT,
    "bytes": TEXT.encode(),
    "nested": {"list": [TEXT, 1, b"x" * 2000], "flag": True},
    "numbers": set(range(1000)),
}


class Bucket:
    """As much of S3 as the codec uses."""

    def __init__(self):
        self.objects = {}

    def put_object(self, Bucket, Key, Body):  # noqa: N803 - as boto3 calls it
        self.objects[Bucket, Key] = bytes(Body)
        return {}

    def get_object(self, Bucket, Key):  # noqa: N803 - as boto3 calls it
        content = self.objects[Bucket, Key]
        return {"Body": type("Body", (), {"read": lambda _: content})()}


@pytest.fixture
def client(service):
    service.create_table(**SCHEMA)
    return service


def raw(client):
    return client.get_item(TableName="App", Key={k: {"S": v} for k, v in KEY.items()})["Item"]


def test_large_attributes_are_compressed_and_small_ones_left_alone(client):
    table = TableClient(client, "App", codecs=[Compression([*VALUES, "small"])])
    table.put({**KEY, **VALUES, "small": "x"})
    stored = raw(client)
    assert len(stored["text"]["B"]) < len(TEXT) / 10
    assert stored["small"] == {"S": "x"}
    assert table.get(KEY) == {**KEY, **VALUES, "small": "x"}
    assert table.query({"PK": KEY["PK"]}).all() == [{**KEY, **VALUES, "small": "x"}]


def test_values_from_before_a_codec_are_read_as_they_are(client):
    TableClient(client, "App").put({**KEY, "text": TEXT})
    key = os.urandom(32)
    codecs: list[Any] = [
        Compression(["text"]),
        Encryption(["text"], {"k": key}, current="k", key_names=["PK", "SK"]),
        LargeValues(["text"], bucket="b"),
    ]
    assert there(TableClient(client, "App", codecs=codecs).get(KEY))["text"] == TEXT


def encrypted(client, keys, current):
    codec = Encryption([*VALUES, "flag"], keys, current=current, key_names=["PK", "SK"])
    return TableClient(client, "App", codecs=[codec])


def test_encrypted_attributes_are_unreadable_in_the_table(client):
    table = encrypted(client, {"a": os.urandom(32)}, "a")
    table.put({**KEY, **VALUES, "flag": True, "open": "hello"})
    stored = raw(client)
    assert b"no play" not in stored["text"]["B"]
    assert stored["open"] == {"S": "hello"}
    assert table.get(KEY) == {**KEY, **VALUES, "flag": True, "open": "hello"}


def test_keys_can_be_rotated(client):
    keys = {"a": os.urandom(32), "b": os.urandom(32)}
    encrypted(client, keys, "a").put({**KEY, "text": "old"})
    assert encrypted(client, keys, "b").get(KEY)["text"] == "old"
    with pytest.raises(ConversionError, match="the key 'a', which is not known"):
        encrypted(client, {"b": keys["b"]}, "b").get(KEY)


def test_an_encrypted_value_cannot_be_moved_to_another_item(client):
    table = encrypted(client, {"a": os.urandom(32)}, "a")
    table.put({**KEY, "text": "mine"})
    moved = {**raw(client), "PK": {"S": "USER#2"}}
    client.put_item(TableName="App", Item=moved)
    with pytest.raises(ConversionError, match="not encrypted for this item"):
        table.get({**KEY, "PK": "USER#2"})


def test_an_unusable_key_is_refused():
    with pytest.raises(DesignError, match="32 bytes"):
        Encryption(["x"], {"a": b"short"}, current="a", key_names=["PK"])
    with pytest.raises(DesignError, match="no encryption key"):
        Encryption(["x"], {"a": bytes(32)}, current="b", key_names=["PK"])


def test_large_values_are_kept_in_a_bucket_with_a_reference(client):
    bucket = Bucket()
    codec = LargeValues(VALUES, bucket="docs", prefix="app", minimum_bytes=3000)
    table = TableClient(SyncDriver(client, {"s3": bucket}), "App", codecs=[codec])
    item = {**KEY, **VALUES, "open": 1}
    table.put(item)
    assert len(bucket.objects) == 4
    assert raw(client)["text"]["M"]["$s3"]["M"]["bucket"] == {"S": "docs"}
    assert table.get(KEY) == item
    assert table.batch_get([KEY]) == [item]
    for name in bucket.objects:
        bucket.objects[name] = b"Schanged"
    with pytest.raises(ConversionError, match="not the one that was stored"):
        table.get(KEY)


def test_codecs_work_one_after_the_other(client):
    bucket = Bucket()
    codecs: list[Any] = [
        Compression(["text"]),
        Encryption(["text"], {"k": bytes(32)}, current="k", key_names=["PK", "SK"]),
        LargeValues(["text"], bucket="b", minimum_bytes=10),
    ]
    table = TableClient(SyncDriver(client, {"s3": bucket}), "App", codecs=codecs)
    table.put({**KEY, "text": TEXT})
    (content,) = bucket.objects.values()
    assert len(content) < len(TEXT) / 10
    assert there(table.get(KEY))["text"] == TEXT
    with pytest.raises(DesignError, match="written whole"):
        table.update(KEY, set={"text": "x"})
