"""What an update expression counts against the size of an item."""

import pytest

from hashrange.expressions.binding import Binder
from hashrange.expressions.charges import charge_update
from hashrange.expressions.parser import Parser


@pytest.mark.parametrize(
    ("text", "charged"),
    [
        ("REMOVE a", 3 + 1 + 1),
        ("DELETE a :v", 3 + 1 + 1),
        ("SET a = :v", 3 + 1 + 19 + 5),
        ("ADD a :v", 3 + 1 + 19 + 5),
        ("SET a = :v, b = :v", 3 + 2 * (1 + 19 + 5)),
        ("SET a.bc[12] = :v", 3 + (1 + 4 + 2 + 4 + 2) + 19 + 5),
        ("SET #n = :v", 3 + 4 + 19 + 5),
        ("SET a = b.c", 3 + 1 + 19 + (1 + 2 * 15)),
        ("SET a = :v + :v", 3 + 1 + 19 + 34 + 10),
        ("SET a = b - :v", 3 + 1 + 19 + 37 + 16 + 5),
        ("SET a = if_not_exists(b, :v)", 3 + 1 + 19 + 39 + 16 + 5),
        ("SET a = list_append(:v, :v)", 3 + 1 + 19 + 37 + 10),
    ],
)
def test_each_action_is_charged_for_what_it_says(text, charged):
    sections = Parser("UpdateExpression", text).update()
    actions = [action for section in sections for action in section.actions]
    binder = Binder("UpdateExpression", (("#n", "name"),))
    assert charge_update(binder, actions).total({":v": {"S": "12345"}}) == charged
