"""NextToken: where a statement goes on, and which tokens are refused."""

import base64

import pytest

from hashrange.api.partiql.next_tokens import remaining_spans, write_token
from hashrange.errors import ValidationException
from hashrange.storage.reads import Span

REQUEST = {"Statement": "SELECT * FROM t"}
SPANS = [Span(("t1", 1), b"a", b"c"), Span(("t1", 1), b"m", b"p")]


def remaining(token):
    return remaining_spans({**REQUEST, "NextToken": token}, SPANS)


def test_without_a_token_everything_is_read():
    assert remaining_spans(REQUEST, SPANS) == (0, SPANS)


def test_a_token_goes_on_after_its_position():
    first, spans = remaining(write_token(REQUEST, 0, b"b"))
    assert first == 0
    assert [(span.lower, span.upper) for span in spans] == [(b"b\x00", b"c"), (b"m", b"p")]
    first, spans = remaining(write_token(REQUEST, 1, b"n"))
    assert first == 1
    assert [(span.lower, span.upper) for span in spans] == [(b"n\x00", b"p")]


@pytest.mark.parametrize(
    "token",
    [
        "",
        "not base64",
        "é",
        base64.urlsafe_b64encode(b"short").decode(),
        write_token(REQUEST, 0, b""),
        write_token(REQUEST, 0, b"z"),
        write_token(REQUEST, 2, b"a"),
    ],
)
def test_a_token_that_leads_nowhere_is_refused(token):
    with pytest.raises(ValidationException, match="Invalid NextToken"):
        remaining(token)


@pytest.mark.parametrize(
    "other", [{"Statement": "SELECT * FROM u"}, {**REQUEST, "Parameters": [{"S": "a"}]}]
)
def test_a_token_belongs_to_its_statement_and_parameters(other):
    with pytest.raises(ValidationException, match="NextToken does not match request"):
        remaining(write_token(other, 0, b"b"))
