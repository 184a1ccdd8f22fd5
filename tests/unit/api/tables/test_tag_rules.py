"""Rules for tags."""

import pytest

from hashrange.api.tables.tag_rules import check_tags
from hashrange.errors import ValidationException
from hashrange.limits import TAGS_MAX


def tag(key, value=""):
    return {"Key": key, "Value": value}


def test_new_tags_are_merged_with_those_that_are_there():
    merged = check_tags([tag("b", "new"), tag("c", "3")], {"a": "1", "b": "old"})
    assert merged == {"a": "1", "b": "new", "c": "3"}


@pytest.mark.parametrize("text", ["letters", "1 2\u00a03", "+-=._:/@", "ärger", "名前"])
def test_letters_numbers_spaces_and_some_signs_are_allowed(text):
    assert check_tags([tag(text, text)], {}) == {text: text}


@pytest.mark.parametrize(
    ("tags", "text"),
    [
        ([tag("a"), tag("a")], "Duplicate tag keys"),
        ([tag("aws:a")], "must not begin with aws:"),
        ([tag("AWS:a")], "must not begin with aws:"),
        ([tag("a#")], "letters, numbers, white space"),
        ([tag("a", "tab\t")], "letters, numbers, white space"),
        ([tag(str(number)) for number in range(TAGS_MAX + 1)], f"at most {TAGS_MAX} tags"),
    ],
)
def test_other_tags_are_refused(tags, text):
    with pytest.raises(ValidationException, match=text):
        check_tags(tags, {})


def test_replacing_a_tag_adds_none():
    full = {str(number): "" for number in range(TAGS_MAX)}
    assert len(check_tags([tag("0", "new")], full)) == TAGS_MAX
