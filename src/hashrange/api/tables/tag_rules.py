"""The rules for tags: which characters they have, and how many a table may have."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from hashrange.api.tables.definition_checks import INVALID
from hashrange.errors import ValidationException
from hashrange.limits import TAGS_MAX

_SIGNS: Final = frozenset("+-=._:/@")
# Letters, numbers, and white space: the first letters of their Unicode categories.
_CATEGORIES: Final = frozenset("LNZ")


def check_tags(tags: Sequence[dict[str, str]], existing: dict[str, str]) -> dict[str, str]:
    """Return the tags of a resource with these added."""
    keys = [tag["Key"] for tag in tags]
    if len(set(keys)) != len(keys):
        raise ValidationException(f"{INVALID}Duplicate tag keys are not allowed")
    if any(key.lower().startswith("aws:") for key in keys):
        raise ValidationException(f"{INVALID}Tag keys must not begin with aws:")
    check_characters(keys)
    check_characters(tag["Value"] for tag in tags)
    merged = existing | {tag["Key"]: tag["Value"] for tag in tags}
    if len(merged) > TAGS_MAX:
        raise ValidationException(f"{INVALID}A resource can have at most {TAGS_MAX} tags")
    return merged


def check_characters(texts: Iterable[str]) -> None:
    """Refuse keys or values of tags with characters that tags cannot have."""
    for text in texts:
        for character in text:
            if character not in _SIGNS and unicodedata.category(character)[0] not in _CATEGORIES:
                raise ValidationException(
                    f"{INVALID}Tag keys and values can have letters, numbers, white space and the "
                    f"characters + - = . _ : / @ only: {text}"
                )
