"""Key templates format, enumerate and read back keys."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from hashrange.toolkit.design.templates import buckets_between, parse_template, shard_of
from hashrange.toolkit.errors import DesignError


@pytest.mark.parametrize(
    ("template", "values", "key"),
    [
        ("USER#{user_id}", {"user_id": "7"}, "USER#7"),
        ("{{x}}#{a}", {"a": 1}, "{x}#1"),
        ("{score:06d}", {"score": Decimal("42")}, "000042"),
        ("{at:%Y-%m}", {"at": datetime(2026, 3, 9, tzinfo=UTC)}, "2026-03"),
        ("{at:%Y-%m}", {"at": "2026-03-09T10:00:00Z"}, "2026-03"),
        ("{at:%Y}", {"at": 0}, "1970"),
        ("{at}", {"at": date(2026, 3, 9)}, date(2026, 3, 9)),
        ("D#{at}", {"at": date(2026, 3, 9)}, "D#2026-03-09"),
        ("D#{at}", {"at": datetime(2026, 3, 9, 1, 2, tzinfo=UTC)}, "D#2026-03-09T01:02:00.000000Z"),
        ("{score}", {"score": 7}, 7),
        ("{id:shard 10}", {"id": "a"}, "2"),
        ("{id:shard 11}", {"id": "a"}, "03"),
    ],
)
def test_a_template_is_formatted_with_the_fields(template, values, key):
    rendered = parse_template(template).render(values)
    if "shard" in template:
        key = str(shard_of("a", parse_template(template).shards)).zfill(len(key))
    assert rendered == key


def test_the_shard_of_a_value_never_changes():
    assert [shard_of(text, 8) for text in ("a", "b", "order-1")] == [3, 1, 7]


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("USER#{user_id}", {}),
        ("USER#{user_id}", {"user_id": None}),
        ("USER#{user_id}", {"user_id": 1.5}),
        ("USER#{user_id}", {"user_id": True}),
        ("{n:03d}", {"n": 1000}),
        ("{n:03d}", {"n": -1}),
        ("D#{at}", {"at": datetime(2026, 3, 9)}),
        ("{at:%Y}", {"at": "yesterday"}),
    ],
)
def test_a_key_that_cannot_be_made_exactly_is_refused(template, values):
    with pytest.raises(DesignError):
        parse_template(template).render(values)


@pytest.mark.parametrize("template", ["USER#{", "}", "{a:shard 1}", "{a:shard 5000}", "{a:>3}"])
def test_a_template_that_makes_no_sense_is_refused(template):
    with pytest.raises(DesignError):
        parse_template(template)


def test_a_key_is_read_back_into_its_fields():
    template = parse_template("TENANT#{tenant}#SHARD#{id:shard 16}#{score:04d}")
    key = template.render({"tenant": "a#b", "id": 5, "score": 12})
    assert template.parse(key) == {"tenant": "a#b", "score": 12}
    assert template.parse("ORDER#1") is None
    assert template.parse(5) is None


def test_reading_enumerates_the_shards_and_buckets_that_are_not_given():
    template = parse_template("{sensor}#{at:%Y-%m-%d}#{id:shard 2}")
    span = (date(2026, 2, 27), date(2026, 3, 1))
    assert template.render_all({"sensor": "s", "at": span}) == (
        "s#2026-02-27#0",
        "s#2026-02-27#1",
        "s#2026-02-28#0",
        "s#2026-02-28#1",
        "s#2026-03-01#0",
        "s#2026-03-01#1",
    )
    assert len(template.render_all({"sensor": "s", "at": date(2026, 2, 27), "id": "x"})) == 1


def test_months_between_two_days_include_both_ends():
    assert buckets_between("2025-12-31", "2026-02-01", "%Y-%m") == ("2025-12", "2026-01", "2026-02")
    assert buckets_between("2026-01-01", "2026-01-01", "%Y-%m") == ("2026-01",)


def test_more_buckets_than_anybody_wants_to_read_are_refused():
    with pytest.raises(DesignError, match="more than 1000 time buckets"):
        buckets_between("2020-01-01", "2026-01-01", "%Y-%m-%d")


def test_the_prefix_ends_at_the_first_field_that_is_missing():
    template = parse_template("ORDER#{year}#{month}#{day}")
    assert template.render_prefix({"year": 2026, "day": 3}) == "ORDER#2026#"
    assert template.prefix == "ORDER#"
