"""Document paths: reading them, printing them, and which of them clash."""

import pytest

from hashrange.errors import ValidationException
from hashrange.expressions.paths import PathSet, path_tree, print_path, read_path
from hashrange.model.values import Item

ITEM: Item = {"m": {"M": {"l": {"L": [{"N": "1"}, {"S": "x"}]}}}, "s": {"S": "text"}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("s",), {"S": "text"}),
        (("m", "l", 1), {"S": "x"}),
        (("m", "l", 2), None),
        (("m", 0), None),
        (("s", "inner"), None),
        (("m", "l", "name"), None),
        (("absent", "a", 0), None),
    ],
)
def test_a_path_leads_to_a_value_or_nowhere(path, value):
    assert read_path(ITEM, path) == value


def test_paths_are_printed_as_lists_of_their_elements():
    assert print_path(("a", 0, "b")) == "[a, [0], b]"


def test_paths_become_a_tree():
    assert path_tree([("a", "b"), ("a", "c", 0), ("d",)]) == {
        "a": {"b": None, "c": {0: None}},
        "d": None,
    }


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        ([("a",), ("a",)], "overlap with each other; must remove or rewrite one"),
        ([("a",), ("a", "b")], "path one: [a, b], path two: [a]"),
        ([("a", "b"), ("a",)], "path one: [a], path two: [a, b]"),
        ([("a", "b"), ("a", 0)], "conflict with each other; must remove or rewrite one"),
    ],
)
def test_paths_that_overlap_or_conflict_are_refused(paths, text):
    seen = PathSet("UpdateExpression")
    seen.add(paths[0])
    with pytest.raises(ValidationException) as raised:
        seen.add(paths[1])
    assert str(raised.value).startswith("Invalid UpdateExpression: Two document paths ")
    assert text in str(raised.value)


def test_paths_side_by_side_are_accepted():
    seen = PathSet("")
    for path in (("a", "b"), ("a", "c"), ("l", 0), ("l", 1, "x"), ("l", 1, "y")):
        seen.add(path)
