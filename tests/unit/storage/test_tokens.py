"""Client request tokens: new, repeated, reused, and too old to matter."""

import pytest

from hashrange.errors import IdempotentParameterMismatchException
from hashrange.limits import CLIENT_TOKEN_SECONDS
from hashrange.storage.tokens import TOKEN_STORE, TokenCheck, window_key

NOW = 1_800_000_000.0
REQUEST = {"TransactItems": [1, 2]}


def check(now=NOW, request: object = REQUEST):
    return TokenCheck("account/region/token", request, now)


def row():
    made = check().admit(None, None)
    assert made is not None
    return made


def test_a_token_is_looked_for_in_the_current_window_and_the_one_before():
    name = "account/region/token"
    assert check().keys == (
        (TOKEN_STORE, 0, window_key(NOW, name)),
        (TOKEN_STORE, 0, window_key(NOW - CLIENT_TOKEN_SECONDS, name)),
    )


@pytest.mark.parametrize("is_current", [True, False])
def test_the_same_request_is_not_carried_out_again(is_current):
    rows = (row(), None) if is_current else (None, row())
    assert check(NOW + CLIENT_TOKEN_SECONDS).admit(*rows) is None


def test_the_order_of_members_makes_no_other_request():
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    first = check(request=one).admit(None, None)
    assert check(request=other).admit(first, None) is None


def test_another_request_with_the_token_is_refused():
    with pytest.raises(IdempotentParameterMismatchException):
        check(request={"TransactItems": []}).admit(row(), None)


def test_a_token_is_forgotten_after_its_time():
    later = check(NOW + CLIENT_TOKEN_SECONDS + 1, request={"TransactItems": []})
    assert later.admit(None, row()) is not None
