"""Index rows of an item change, and what they cost."""

import pytest

from hashrange.engine.base import Changes
from hashrange.model.keys import index_key
from hashrange.model.schema import KeyPart
from hashrange.model.values import item_size
from hashrange.storage.indexes import change_indexes, write_units
from hashrange.storage.layout import pack_item, unpack_item
from tests.harness.schemas import make_index, make_table

PK = KeyPart("p", "S")
INDEX = make_index("by_g", KeyPart("g", "S"), projected=frozenset(("p", "g", "kept")))
LOCAL = make_index("by_x", PK, KeyPart("x", "S"), is_global=False)
TABLE = make_table(PK, indexes=(INDEX,))


def item(**attributes):
    made = {name: {"S": value} for name, value in {"p": "a", **attributes}.items()}
    return made, pack_item(made, item_size(made))


def change(old, new, table=TABLE, unmarked=()):
    local, indexed = Changes(), Changes()
    return (*change_indexes(table, old, new, (local, indexed), unmarked), local, indexed)


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2)])
def test_writes_are_counted_in_units_of_a_kilobyte(size, units):
    assert write_units(size) == units


def test_a_new_item_is_projected_into_its_index():
    new = item(g="1", kept="yes", dropped="no")
    charges, _, local, indexed = change(None, new)
    [(store, _, key, row)] = indexed.puts
    assert (store, key) == (INDEX.store, index_key(INDEX, TABLE, new[0]))
    assert unpack_item(row).keys() == {"p", "g", "kept"}
    assert charges == {"by_g": 1}
    assert [tally[:2] for tally in local.tallies] == [(INDEX.store, 1)]


def test_an_item_without_the_key_of_the_index_is_not_in_it():
    charges, _, _, indexed = change(None, item(kept="yes"))
    assert (charges, indexed.puts) == ({}, [])


def test_a_change_that_the_index_does_not_keep_costs_nothing():
    charges, _, _, indexed = change(item(g="1", dropped="a"), item(g="1", dropped="b"))
    assert (charges, indexed.puts, indexed.deletes) == ({}, [], [])


def test_a_change_in_place_costs_one_write_and_a_move_two():
    charges, _, _, indexed = change(item(g="1", kept="a"), item(g="1", kept="b"))
    assert (charges, len(indexed.puts), indexed.deletes) == ({"by_g": 1}, 1, [])
    charges, _, _, indexed = change(item(g="1"), item(g="2"))
    assert (charges, len(indexed.puts), len(indexed.deletes)) == ({"by_g": 2}, 1, 1)


def test_a_deleted_item_leaves_its_index():
    charges, _, local, indexed = change(item(g="1"), None)
    assert (charges, len(indexed.deletes)) == ({"by_g": 1}, 1)
    assert [tally[:2] for tally in local.tallies] == [(INDEX.store, -1)]


def test_an_index_being_filled_is_not_asked_to_delete_what_it_does_not_hold():
    _, _, _, indexed = change(item(g="1"), item(g="2"), unmarked=(INDEX,))
    assert (len(indexed.puts), indexed.deletes) == (1, [])


def test_rows_of_local_indexes_change_with_the_item_and_count_for_its_collection():
    _, local_bytes, local, indexed = change(
        None, item(x="1"), table=make_table(PK, indexes=(LOCAL,))
    )
    assert (len(local.puts), indexed.puts) == (1, [])
    assert local_bytes == item_size(item(x="1")[0])
