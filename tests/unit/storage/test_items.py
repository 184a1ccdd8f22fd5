"""Where an item is, and how consistent its read is."""

import pytest

from hashrange.engine.base import EVENTUAL, STRONG, shard_of
from hashrange.model.keys import item_key
from hashrange.model.schema import KeyPart
from hashrange.storage.items import consistency_of, item_row
from tests.harness.schemas import make_table

PK = KeyPart("p", "S")


@pytest.mark.parametrize("shards", [1, 8])
def test_the_key_of_an_item_says_in_which_shard_it_is(shards):
    table = make_table(PK, shards=shards)
    for number in range(20):
        key = item_key(table.parts, {"p": {"S": str(number)}})
        assert item_row(table, key) == ("t1", shard_of(key, shards), key)


def test_consistent_reads_are_strong():
    assert [consistency_of(True), consistency_of(False)] == [STRONG, EVENTUAL]
