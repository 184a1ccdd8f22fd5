"""Errors that item writes share: failed conditions and unsupported ReturnValues."""

from __future__ import annotations

from hashrange.api.items.arguments import ENVELOPE
from hashrange.api.operation import Request
from hashrange.errors import ConditionalCheckFailedException, ValidationException
from hashrange.model.values import ENVELOPED
from hashrange.storage.layout import splice
from hashrange.storage.writes import ItemOutcome

CONDITION_FAILED = "The conditional request failed"


def check_old_values(request: Request, wording: int) -> None:
    """Refuse ReturnValues that only an update can give."""
    if request.get("ReturnValues", "NONE") not in ("NONE", "ALL_OLD"):
        message = "ReturnValues can only be ALL_OLD or NONE"
        raise ValidationException(ENVELOPE + message if wording == ENVELOPED else message)


def condition_failed(request: Request, outcome: ItemOutcome) -> ConditionalCheckFailedException:
    """Return the error for a failed condition, with the item if it was asked for."""
    members: dict[str, object] | None = None
    if outcome.old is not None and request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
        members = {"Item": splice(outcome.old)}
    return ConditionalCheckFailedException(CONDITION_FAILED, members)
