"""Large bodies are decoded to what orjson makes of them, or refused before they are."""

from __future__ import annotations

import asyncio
import json
import random

import orjson
import pytest

from hashrange.errors import SerializationException, ValidationException
from hashrange.wire.protocols import large_json
from hashrange.wire.protocols.large_json import decode_large


def decoded(body: bytes):
    return asyncio.run(decode_large(body))


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch):
    """Split whatever has more than a few values, so that tests need no megabytes."""
    monkeypatch.setattr(large_json, "_AT_ONCE_MAX", 4)
    monkeypatch.setattr(large_json, "_COUNT_MAX", 12)
    monkeypatch.setattr(large_json, "_GROUP_BYTES", 10)
    monkeypatch.setattr(large_json, "LIST_MEMBERS_MAX", 40)


def written(value: object, dice: random.Random) -> bytes:
    """Return JSON with white space wherever it may stand."""
    text = json.dumps(value, ensure_ascii=dice.random() < 0.5, indent=dice.choice((None, 0, 3)))
    return dice.choice((b"", b" ", b"\r\n\t")) + text.encode() + dice.choice((b"", b" \n"))


def random_value(dice: random.Random, levels: int) -> object:
    kind = dice.randrange(7 if levels else 4)
    if kind == 0:
        return dice.choice((None, True, False, 0, -1.5e30, 7))
    if kind < 4:
        return "".join(dice.choices('ab,{}[]":\\\u00e9\U0001f600 \n', k=dice.randrange(8)))
    if kind == 4:
        return [random_value(dice, levels - 1) for _ in range(dice.randrange(9))]
    return {
        "".join(dice.choices('xy"\\{,', k=dice.randrange(4))): random_value(dice, levels - 1)
        for _ in range(dice.randrange(9))
    }


@pytest.mark.parametrize("seed", range(30))
def test_a_split_document_is_the_same_as_one_decoded_at_once(seed):
    dice = random.Random(seed)
    split = 0
    for _ in range(20):
        request = {"a": random_value(dice, 4), "b": random_value(dice, 3)}
        body = written(request, dice)
        try:
            found = decoded(body)
        except ValidationException:
            continue  # too dense for the small bounds of this test
        assert found == orjson.loads(body)
        split += 1
    assert split > 5


@pytest.mark.parametrize("seed", range(20))
def test_a_document_with_an_error_anywhere_is_refused(seed):
    dice = random.Random(seed)
    request = {"a": [[dice.randrange(100)] * 5 for _ in range(5)], "b": {"c": ["x,{"] * 11}}
    body = json.dumps(request).encode()
    for _ in range(50):
        position = dice.randrange(len(body))
        spoilt = body[:position] + dice.choice((b"", b"]", b"}", b"x", b",", b'"')) + body[
            position + 1 :
        ]  # fmt: skip
        try:
            expected = orjson.loads(spoilt)
        except orjson.JSONDecodeError:
            with pytest.raises((SerializationException, ValidationException)):
                decoded(spoilt)
        else:
            assert decoded(spoilt) == expected


@pytest.mark.parametrize(
    "body",
    [
        b'{"Item":{"l":{"L":[' + b'{"N":"1"},' * 50 + b'{"N":"1"}]}}}',
        b'{"l":[' + b"[]," * 50 + b"[]]}",
        b"{" + b",".join(b'"%d":{"S":""}' % number for number in range(50)) + b"}",
        b'{"a":' + b"[" * 20 + b"1," * 20 + b"1" + b"]" * 20 + b"}",
        b'{"a":"' + b"," * 50 + b'"}',
    ],
)
def test_a_part_with_too_many_values_is_refused(body):
    with pytest.raises(ValidationException, match="Item size has exceeded"):
        decoded(body)


@pytest.mark.parametrize("body", [b"[" + b"1," * 20 + b"1]", b'"' + b"," * 3 + b'"'])
def test_what_is_no_object_is_refused(body):
    with pytest.raises(SerializationException, match="Unexpected value type in payload"):
        decoded(body)


def test_the_last_of_two_members_with_one_name_counts():
    body = b'{"a":[1,2,3,4,5,6,7],"a":[1,2,3,4,5,6,7,8]}'
    assert decoded(body) == {"a": [1, 2, 3, 4, 5, 6, 7, 8]}


def test_more_lists_and_maps_than_an_item_has_room_for_are_refused_before_they_are_made():
    lists = b'{"a":[' + b'{"L":[]},' * 6 + b'{"L":[]}]}'
    with pytest.raises(ValidationException, match="Item size has exceeded"):
        decoded(lists)
    assert len(decoded(lists.replace(b'"L"', b'"S"'))["a"]) == 7


def test_a_part_of_an_item_nested_too_deep_is_refused():
    with pytest.raises(ValidationException, match="Item size has exceeded"):
        decoded(b'{"a":' + b'{"a":' * 7 + b"[" * 90 + b"1,1,1,1,1,1" + b"]" * 90 + b"}" * 8)


def test_nesting_without_end_is_refused():
    with pytest.raises((SerializationException, ValidationException)):
        decoded(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
