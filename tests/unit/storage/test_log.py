"""The rows of the change log: their format, byte by byte, and what counts as a change."""

import random
from typing import Any

import pytest

from hashrange.engine.base import Changes
from hashrange.errors import CorruptionError
from hashrange.model.schema import KeyPart, StreamLog, Table
from hashrange.model.values import Item, item_size
from hashrange.storage.indexes import same_item
from hashrange.storage.layout import pack_item, unpack_item
from hashrange.storage.log import INSERT, MODIFY, REMOVE, Change, is_change, log_change

TIME = 1_700_000_000.5
NUMBER = (7).to_bytes(8, "big")


def table_with(view_type: str, bounds: tuple[bytes, ...] = (bytes(4),)) -> Table:
    prefixes = tuple(b"r%04d" % number for number in range(len(bounds)))
    return Table(
        "table",
        id="",
        account="000000000000",
        region="us-east-1",
        store="t",
        partition=KeyPart("p", "S"),
        sort=KeyPart("r", "N"),
        indexes=(),
        key_types={"p": "S", "r": "N"},
        version=1,
        stream=StreamLog("log", view_type, bounds, prefixes),
    )


def row_of(item: Item) -> bytes:
    return pack_item(item, item_size(item))


def item(**attributes: Any) -> Item:
    return {"p": {"S": "k"}, "r": {"N": "1"}, **attributes}


def logged(
    old: Item | None,
    new: Item | None,
    view_type: str = "NEW_AND_OLD_IMAGES",
    *,
    by_service: bool = False,
) -> tuple[str, int, bytes, bytes]:
    changes = Changes()
    rows = (None if old is None else row_of(old), None if new is None else row_of(new))
    who = (TIME, int(by_service), b"")
    log_change(table_with(view_type), ("t", 0, b"\x80key"), new or old or {}, rows, who, changes)
    (append,) = changes.appends
    return append


def test_a_change_row_has_the_documented_bytes() -> None:
    store, _, prefix, value = logged(item(), item(a={"S": "x"}), by_service=True)
    assert (store, prefix) == ("log", b"r0000")
    keys = b"\x05\x00\x00\x00" + b'{"p":{"S":"k"},"r":{"N":"1"}}'
    new = b"\x07\x00\x00\x00" + b'{"p":{"S":"k"},"r":{"N":"1"},"a":{"S":"x"}}'
    time = bytes.fromhex("00002040fc54d941")
    assert value == time + b"\x02\x01\x00\x00" + b"\x21\x00\x00\x00" * 2 + keys + keys + new


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (None, item(a={"S": "x"}), INSERT),
        (item(), item(a={"S": "x"}), MODIFY),
        (item(a={"S": "x"}), None, REMOVE),
    ],
)
@pytest.mark.parametrize("view_type", ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"])
def test_a_change_reads_back(old: Item | None, new: Item | None, kind: int, view_type: str) -> None:
    _, _, prefix, value = logged(old, new, view_type)
    change = Change(prefix + NUMBER, value)
    assert (change.kind, change.time, change.sequence) == (kind, TIME, 7)
    assert not change.by_service
    assert unpack_item(change.keys) == item()
    keeps_old = "OLD" in view_type
    keeps_new = "NEW" in view_type
    assert (unpack_item(change.old) if change.old else None) == (old if keeps_old else None)
    assert (unpack_item(change.new) if change.new else None) == (new if keeps_new else None)
    images = [image for image, kept in ((old, keeps_old), (new, keeps_new)) if kept and image]
    assert change.size == sum(item_size(part) for part in (item(), *images))


def test_what_is_no_change_row_is_corruption() -> None:
    with pytest.raises(CorruptionError):
        Change(b"r0000" + NUMBER, b"short")


def test_a_change_goes_to_the_shard_of_its_placement() -> None:
    stream = table_with("KEYS_ONLY", (bytes(4), b"\x40\0\0\0", b"\x80\0\0\0")).stream
    assert stream is not None
    for placement, shard in (
        (b"\0\0\0\0", 0),
        (b"\x3f\xff\xff\xff", 0),
        (b"\x40\0\0\0", 1),
        (b"\x7f\xff\xff\xff", 1),
        (b"\x80\0\0\0", 2),
        (b"\xff\xff\xff\xff", 2),
    ):
        assert stream.prefix(placement + b"k\0\0") == b"r%04d" % shard


def draw_value(dice: random.Random, depth: int = 0) -> dict[str, Any]:
    kind = dice.choice(("S", "N", "SS", "NS", "M", "L", "BOOL", "B"))
    if kind == "S":
        return {"S": dice.choice(("", "a", "b", "ab", "ba", 'S":['))}
    if kind == "N":
        return {"N": dice.choice(("1", "12", "21", "-1"))}
    if kind == "B":
        return {"B": dice.choice(("YQ==", "YWI="))}
    if kind == "BOOL":
        return {"BOOL": dice.random() < 0.5}
    if kind == "SS":
        return {"SS": dice.sample(["a", "b", "ab"], dice.randrange(1, 4))}
    if kind == "NS":
        return {"NS": dice.sample(["1", "12", "21"], dice.randrange(1, 4))}
    if depth > 2 or kind == "L":
        return {"L": [draw_value(dice, depth + 1) for _ in range(dice.randrange(3 - depth % 3))]}
    return {"M": draw_item(dice, depth + 1)}


def draw_item(dice: random.Random, depth: int = 0) -> Item:
    names = dice.sample(["a", "b", "c", "d"], dice.randrange(4))
    return {name: draw_value(dice, depth) for name in names}


def shuffled(dice: random.Random, value: Any) -> Any:
    """Return an equal value with attributes and set members in another order."""
    if isinstance(value, list):
        return [shuffled(dice, member) for member in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name in dice.sample(sorted(value), len(value)):
        member = value[name]
        if name in ("SS", "NS") and isinstance(member, list):
            found[name] = dice.sample(member, len(member))
        else:
            found[name] = shuffled(dice, member)
    return found


def test_equal_items_are_no_change_and_others_are_one() -> None:
    dice = random.Random(5)
    equal = different = 0
    for _ in range(4000):
        old = draw_item(dice)
        new = shuffled(dice, old) if dice.random() < 0.5 else draw_item(dice)
        is_same = same_item(old, new)
        equal += is_same
        different += not is_same
        rows = (row_of(old), row_of(new))
        assert is_change(rows, (None, new)) is not is_same
        assert is_change(rows, (old, new)) is not is_same
        assert is_change(rows, (None, None)) is not is_same
    assert min(equal, different) > 1000


def test_appearing_and_disappearing_are_changes() -> None:
    row = row_of(item())
    assert is_change((None, row), (None, None))
    assert is_change((row, None), (None, None))
    assert not is_change((None, None), (None, None))
