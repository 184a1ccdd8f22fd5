"""Tables and indexes as requests see them."""

from hashrange.model.schema import Index, KeyPart, StreamLog, Table

PK, SK, NUMBER = KeyPart("p", "S"), KeyPart("s", "S"), KeyPart("n", "N")


def index(name, *, is_global=True, queryable=True):
    return Index(
        name,
        f"store-{name}",
        is_global=is_global,
        partition=(PK,),
        sort=(NUMBER,),
        projection_type="ALL",
        projected=None,
        queryable=queryable,
    )


def table(*indexes, sort: KeyPart | None = SK, time_to_live=None):
    return Table(
        "music",
        id="i",
        account="123456789012",
        region="eu-west-1",
        store="t1",
        partition=PK,
        sort=sort,
        indexes=indexes,
        key_types={},
        version=7,
        time_to_live=time_to_live,
    )


def test_indexes_are_kept_in_the_order_of_their_names_and_told_apart():
    made = table(index("b"), index("a", is_global=False), index("c", queryable=False))
    assert [each.name for each in made.indexes] == ["a", "b", "c"]
    assert [each.name for each in made.local_indexes] == ["a"]
    assert [each.name for each in made.filling] == ["c"]
    assert made.by_name["b"].key_names == ("p", "n")


def test_only_keys_that_are_all_strings_take_the_short_way():
    assert table().string_names == ("p", "s")
    assert table(sort=None).string_names == ("p",)
    assert table(sort=NUMBER).string_names == ()


def test_a_write_must_know_the_item_before_if_rows_are_derived_from_it():
    assert not table().has_derived_rows
    assert table(index("a")).has_derived_rows
    assert table(time_to_live="expires").has_derived_rows


def test_a_table_knows_its_arn_its_stores_and_its_version():
    made = table()
    assert made.arn == "arn:aws:dynamodb:eu-west-1:123456789012:table/music"
    assert (made.collections_store, made.expiry_store) == ("t1.c", "t1.x")
    assert made.fences == (("t1", 7),)


def test_a_change_is_logged_in_the_shard_whose_range_holds_its_key():
    log = StreamLog("t1.s", "NEW_IMAGE", (b"\x00", b"\x80"), (b"first", b"second"))
    assert [log.prefix(key) for key in (b"\x00\x00", b"\x7f\xff")] == [b"first"] * 2
    assert [log.prefix(key) for key in (b"\x80\x00", b"\xff\xff")] == [b"second"] * 2


def test_a_view_type_says_which_images_are_kept():
    kept = {
        view: (log.keeps_new, log.keeps_old)
        for view in ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")
        for log in [StreamLog("s", view, (b"",), (b"",))]
    }
    assert kept == {
        "KEYS_ONLY": (False, False),
        "NEW_IMAGE": (True, False),
        "OLD_IMAGE": (False, True),
        "NEW_AND_OLD_IMAGES": (True, True),
    }
