"""The error tree of the toolkit.

    ToolkitError
    ├── DesignError            the design contradicts itself, or a call does not fit it
    ├── ConversionError        a value has no exact DynamoDB form (ValueError)
    ├── ConditionFailed        a condition did not hold; `item` is the item that is there
    │   ├── AlreadyExists      a create found an item with the same key
    │   ├── VersionConflict    the item changed since it was read
    │   └── NotUnique          another item holds the value of a unique attribute
    ├── NotFound               there is no such item (LookupError)
    ├── TransactionFailed      a transaction was cancelled; `reasons` says why, step by step
    ├── Throttled              still throttled after the last attempt
    ├── Unavailable            no answer, or a server error, after the last attempt
    ├── RequestRefused         DynamoDB refused the request; `code` is its error code
    └── MigrationError         a migration cannot start, continue or be verified

Errors of botocore are translated once, in `hashrange.toolkit.client.retries`, and are kept as
`__cause__`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final


class ToolkitError(Exception):
    """Any error the toolkit raises on purpose."""


@final
class DesignError(ToolkitError):
    """The design contradicts itself, or a call does not fit it; `problems` lists every finding."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class ConversionError(ToolkitError, ValueError):
    """A value has no exact DynamoDB form, or no exact form in the model."""


class ConditionFailed(ToolkitError):
    """A condition did not hold. `item` is the item as it was, if the service returned it."""

    def __init__(self, message: str, item: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.item = item


class AlreadyExists(ConditionFailed):
    """A create found an item with the same key."""


class VersionConflict(ConditionFailed):
    """The item changed since it was read."""


class NotUnique(ConditionFailed):
    """Another item holds the value of a unique attribute, named by `attribute`."""

    def __init__(self, message: str, attribute: str) -> None:
        super().__init__(message)
        self.attribute = attribute


class NotFound(ToolkitError, LookupError):
    """There is no such item."""


@dataclass(frozen=True, slots=True)
class CancellationReason:
    """Why one step of a transaction could not be carried out."""

    position: int
    step: str
    code: str
    message: str
    item: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"step {self.position + 1} ({self.step}): {self.code}: {self.message}"


@final
class TransactionFailed(ToolkitError):
    """A transaction was cancelled. `reasons` has an entry for each step that failed."""

    def __init__(self, reasons: Sequence[CancellationReason]) -> None:
        super().__init__("transaction cancelled: " + "; ".join(map(str, reasons)))
        self.reasons = tuple(reasons)

    def reason_of(self, position: int) -> CancellationReason | None:
        """Return why the step at a position failed, or None if it did not."""
        return next((reason for reason in self.reasons if reason.position == position), None)


class Throttled(ToolkitError):
    """The request was still throttled after the last attempt."""


class Unavailable(ToolkitError):
    """There was no answer, or a server error, even at the last attempt."""


@final
class RequestRefused(ToolkitError):
    """DynamoDB refused the request; `code` is its error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class MigrationError(ToolkitError):
    """A migration cannot start, continue or be verified."""
