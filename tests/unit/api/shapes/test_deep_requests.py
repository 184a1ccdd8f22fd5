"""Where AWS's older reader takes over."""

import pytest

from hashrange.api.shapes.deep_requests import is_deep


def nested(levels, wrap):
    value: object = "leaf"
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}])
def test_a_request_of_more_than_127_levels_is_deep(wrap):
    assert not is_deep(nested(127, wrap))
    assert is_deep(nested(128, wrap))


def test_a_wide_request_is_not_deep():
    assert not is_deep({"a": [{"b": index} for index in range(1000)]})
