"""Every error a client can see, drawn as one tree, and the failures of our own.

ClientError
├── one class per AWS error type, none per message; the text stands at the check that raises it
Failures inside the server (never shown as they are):
├── CorruptionError     something read back from disk is not what was written
├── EngineError         the engine could not do it; nothing was changed
│   ├── StaleVersionError   the decision was built on an older version of a table
│   ├── ConflictError       the engine gave up on contention
│   └── StorageFullError    no room
└── UnknownOutcomeError the write may or may not have happened
"""

from __future__ import annotations

_SERVICE = "com.amazonaws.dynamodb.v20120810#"
_CORAL_SERVICE = "com.amazon.coral.service#"
_CORAL_VALIDATE = "com.amazon.coral.validate#"


class ClientError(Exception):
    """An answer with an error type; `members` are extra fields of the error document."""

    prefix = _SERVICE
    status = 400
    message_member = "message"

    def __init__(self, message: str = "", members: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.members = members

    @property
    def code(self) -> str:
        return type(self).__name__

    def document(self) -> dict[str, object]:
        """Return the JSON document AWS sends for this error."""
        document: dict[str, object] = {"__type": self.prefix + self.code}
        if self.members:
            document.update(self.members)
        if self.message:
            document[self.message_member] = self.message
        return document


class ValidationException(ClientError):
    prefix = _CORAL_VALIDATE


class SerializationException(ClientError):
    prefix = _CORAL_SERVICE
    message_member = "Message"


class UnknownOperationException(ClientError):
    prefix = _CORAL_SERVICE


class MissingAuthenticationTokenException(ClientError):
    prefix = _CORAL_SERVICE


class IncompleteSignatureException(ClientError):
    prefix = _CORAL_SERVICE


class InvalidSignatureException(ClientError):
    prefix = _CORAL_SERVICE


class UnrecognizedClientException(ClientError):
    prefix = _CORAL_SERVICE


class ExpiredTokenException(ClientError):
    prefix = _CORAL_SERVICE


class AccessDeniedException(ClientError):
    prefix = _CORAL_SERVICE


class ResourceNotFoundException(ClientError):
    pass


class ResourceInUseException(ClientError):
    pass


class PolicyNotFoundException(ClientError):
    pass


class TableNotFoundException(ClientError):
    pass


class TableAlreadyExistsException(ClientError):
    pass


class TableInUseException(ClientError):
    pass


class PointInTimeRecoveryUnavailableException(ClientError):
    pass


class InvalidRestoreTimeException(ClientError):
    pass


class BackupNotFoundException(ClientError):
    pass


class BackupInUseException(ClientError):
    pass


class InvalidExportTimeException(ClientError):
    pass


class ExportConflictException(ClientError):
    pass


class ExportNotFoundException(ClientError):
    pass


class ImportConflictException(ClientError):
    pass


class ImportNotFoundException(ClientError):
    pass


class ExpiredIteratorException(ClientError):
    pass


class TrimmedDataAccessException(ClientError):
    pass


class LimitExceededException(ClientError):
    pass


class ConditionalCheckFailedException(ClientError):
    pass


class DuplicateItemException(ClientError):
    pass


class ItemCollectionSizeLimitExceededException(ClientError):
    pass


class ThroughputError(ClientError):
    """What the errors of throttled requests have in common; never raised itself.

    `table` and `index` (None for the table itself) are what was throttled, `reason` is DynamoDB's.
    """

    table = ""
    index: str | None = None
    reason = ""


class ThrottlingException(ThroughputError):
    prefix = _CORAL_SERVICE


class ProvisionedThroughputExceededException(ThroughputError):
    pass


class RequestLimitExceeded(ThroughputError):
    pass


class TransactionCanceledException(ClientError):
    message_member = "Message"


class TransactionConflictException(ClientError):
    pass


class TransactionInProgressException(ClientError):
    message_member = "Message"


class IdempotentParameterMismatchException(ClientError):
    message_member = "Message"


class InvalidParameterValueException(ClientError):
    pass


class ResourceConflictException(ClientError):
    status = 409


class InternalServerError(ClientError):
    status = 500


class InternalFailure(ClientError):
    prefix = _CORAL_SERVICE
    status = 500


class ServiceUnavailableException(ClientError):
    prefix = _CORAL_SERVICE
    status = 503


class CorruptionError(Exception):
    """What was read back is not what was written."""


class EngineError(Exception):
    """The engine could not do it, and nothing was changed."""


class StaleVersionError(EngineError):
    """The decision was built on an older version of a table than the one in force."""


class ConflictError(EngineError):
    """Too much contention on the same rows."""


class StorageFullError(EngineError):
    """There is no room left for the write."""


class UnknownOutcomeError(Exception):
    """The write may or may not have happened."""
