"""Refusals that all item writes share."""

import orjson
import pytest

from hashrange.api.items.write_refusals import check_old_values, condition_failed
from hashrange.errors import ValidationException
from hashrange.model.values import ENVELOPED, OLDER
from hashrange.storage.layout import pack_item
from hashrange.storage.writes import ItemOutcome

ITEM = {"p": {"S": "a"}}


@pytest.mark.parametrize("wanted", [{}, {"ReturnValues": "NONE"}, {"ReturnValues": "ALL_OLD"}])
def test_old_values_may_be_asked_for(wanted):
    check_old_values(wanted, OLDER)


def test_new_values_may_not():
    request = {"ReturnValues": "ALL_NEW"}
    with pytest.raises(ValidationException, match=r"^ReturnValues can only be ALL_OLD or NONE$"):
        check_old_values(request, OLDER)
    with pytest.raises(ValidationException, match=r"..ReturnValues can only be ALL_OLD or NONE$"):
        check_old_values(request, ENVELOPED)


def test_a_failed_condition_brings_the_item_only_when_asked_for():
    outcome = ItemOutcome(pack_item(ITEM, 2), None, matched=False)
    asked = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    members = condition_failed(asked, outcome).members
    assert orjson.loads(orjson.dumps(members)) == {"Item": ITEM}
    assert not condition_failed({}, outcome).members
    assert not condition_failed(asked, ItemOutcome(None, None, matched=False)).members
