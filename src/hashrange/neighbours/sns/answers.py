"""What the operations of SNS share: errors and pages."""

from __future__ import annotations

from typing import Any, Final

from hashrange.neighbours.service import Parameters, Result, ServiceError

_PAGE: Final = 100


def invalid_parameter(message: str) -> ServiceError:
    return ServiceError("InvalidParameterException", f"Invalid parameter: {message}")


def no_topic() -> ServiceError:
    return ServiceError("NotFoundException", "Topic does not exist", status=404)


def no_subscription() -> ServiceError:
    return ServiceError("NotFoundException", "Subscription does not exist", status=404)


def paged(entries: list[Any], parameters: Parameters, member: str) -> Result:
    """Return a page of 100 entries."""
    token = parameters.get("NextToken") or "0"
    if not token.isdigit():
        raise invalid_parameter("nextToken Reason: Invalid token")
    begin = int(token)
    answer: Result = {member: entries[begin : begin + _PAGE]}
    if begin + _PAGE < len(entries):
        answer["NextToken"] = str(begin + _PAGE)
    return answer
