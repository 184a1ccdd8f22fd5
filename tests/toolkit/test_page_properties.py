"""Properties: keys read back as they were made; merged pages are the sorted whole, cut anyhow."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hashrange.toolkit.client.drivers import SyncDriver
from hashrange.toolkit.client.pages import Pages, RawPage, Source
from hashrange.toolkit.client.plans import constant
from hashrange.toolkit.design.templates import parse_template
from hashrange.toolkit.values import from_wire_item, to_wire, to_wire_item

words = st.text(st.characters(exclude_characters="#", codec="utf-8"), min_size=1, max_size=8)
numbers = st.integers(0, 10**6 - 1)


@given(words, numbers, words)
def test_a_key_reads_back_as_it_was_made(tenant, score, last):
    template = parse_template("T#{tenant}#{score:06d}#{tenant:shard 16}#{last}")
    fields = {"tenant": tenant, "score": score, "last": last}
    assert template.parse(template.render(fields)) == fields


@given(st.lists(numbers, min_size=2, max_size=2))
def test_padded_numbers_are_ordered_as_numbers(pair):
    template = parse_template("{n:06d}")
    first, second = (template.render({"n": number}) for number in pair)
    assert (first < second) == (pair[0] < pair[1])


def fetch_of(shard, keys, cut):
    """A fetch over sorted keys that returns at most `cut` items at once, as a service may."""

    def fetch(position, size):
        start = 0 if position is None else keys.index(int(position["n"]["N"])) + 1
        end = min(start + cut, start + (size or cut), len(keys))
        items = [to_wire_item({"n": key, "shard": shard}) for key in keys[start:end]]
        following = items[-1] if items and end < len(keys) else None
        return constant(RawPage(items, following, len(items)))

    return fetch


@given(
    st.lists(
        st.lists(st.lists(st.integers(0, 50), unique=True), min_size=1, max_size=4),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 9),
    st.integers(1, 9),
    st.booleans(),
)
def test_merged_pages_are_the_sorted_stages_cut_at_any_size(stages, cut, size, newest_first):
    def ordered(keys):
        return sorted(keys, reverse=newest_first)

    source = Source(
        [[fetch_of(at, ordered(keys), cut) for at, keys in enumerate(shards)] for shards in stages],
        lambda item: from_wire_item(item)["n"],
        ("n", "shard"),
        "n",
        newest_first,
    )
    expected = [
        key for shards in stages for key in ordered([key for keys in shards for key in keys])
    ]
    pages = Pages(SyncDriver(None).run, source)
    assert pages.all() == expected
    assert [key for page in pages.pages(size) for key in page] == expected
    assert all(len(page) <= size for page in pages.pages(size))
    assert Pages(SyncDriver(None).run, source, size).all() == expected[:size]
    found: list[Any] = []
    cursor = None
    for _ in range(1000):
        page = pages.page(cursor, size)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert found == expected


@given(st.decimals(-(10**9), 10**9, places=6) | st.integers(-(10**38) + 1, 10**38 - 1))
def test_numbers_read_back_equal(number):
    assert from_wire_item({"n": to_wire(number)})["n"] == number
