"""Values that a test knows to be there, although their type allows None."""

from typing import TypeVar

Value = TypeVar("Value")


def there(value: Value | None) -> Value:
    """Return a value, which must not be None."""
    assert value is not None
    return value
