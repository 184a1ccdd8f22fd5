"""Numbers of large requests are normalised as the model would, before it looks at them."""

from __future__ import annotations

import asyncio
import copy

from hashrange.model.values import check_item
from hashrange.wire.protocols.bulk_numbers import settle_numbers


def test_all_numbers_become_normal_and_nothing_else_changes():
    request = {
        "TableName": "N",
        "Item": {
            "N": {"S": "1e3"},
            "n": {"N": "1e3"},
            "l": {"L": [{"N": "007"}, {"M": {"deep": {"NS": ["1.50", "-0"]}}}, {"BOOL": True}]},
            "s": {"SS": ["1e3"]},
        },
    }
    expected = copy.deepcopy(request)
    check_item(expected["Item"])
    expected["Item"]["l"]["L"][1]["M"]["deep"]["NS"].sort(reverse=True)  # type: ignore[index]
    asyncio.run(settle_numbers(request))
    assert request == expected


def test_what_is_no_number_is_left_to_the_model():
    request = {"Item": {"a": {"N": "x"}, "b": {"NS": ["1", None, "y"]}, "c": {"N": 5}}}
    before = copy.deepcopy(request)
    asyncio.run(settle_numbers(request))
    assert request == before
