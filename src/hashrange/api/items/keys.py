"""Checks keys of requests against the key schema, with AWS's messages, and encodes them.

The values themselves were checked before; here they are compared with the key schema and turned
into key bytes.
"""

from __future__ import annotations

from typing import Any

from hashrange.errors import ValidationException
from hashrange.expressions.updates import Update
from hashrange.limits import PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from hashrange.model.keys import item_key, plain_key
from hashrange.model.schema import Index, KeyPart, Table
from hashrange.model.values import Item, Value, value_size

_INVALID = "One or more parameter values were invalid: "
_NOT_VALID = "One or more parameter values are not valid. "
_EMPTY = "The AttributeValue for a key attribute cannot contain an empty "
# Four values of this length, with four bytes per character, fit in every index key.
_SHORT_CHARACTERS = 63
_MISMATCH = "The provided key element does not match the schema"


def request_key(table: Table, key: Item) -> bytes:
    """Return the key bytes for the Key of a request, which must be exactly the key attributes."""
    parts = table.parts
    if len(key) != len(parts):
        raise ValidationException(_MISMATCH)
    encoded = plain_key(table, key)
    if encoded is not None:
        return encoded
    empty: KeyPart | None = None
    for part in parts:
        value = key.get(part.name)
        if value is None or part.type not in value:
            raise ValidationException(_MISMATCH)
        if not value[part.type]:
            empty = empty or part
    if empty is not None:
        raise ValidationException(_NOT_VALID + _empty_text(empty) + f" Key: {empty.name}")
    return _encoded(parts, key)


def put_key(table: Table, item: Item) -> bytes:
    """Return the key bytes of an item to be put, whose key attributes must fit the schema."""
    encoded = plain_key(table, item)
    if encoded is not None:
        return encoded
    for part in table.parts:
        value = item.get(part.name)
        if value is None:
            raise ValidationException(f"{_INVALID}Missing the key {part.name} in the item")
        if part.type not in value:
            actual = next(iter(value))
            raise ValidationException(
                f"{_INVALID}Type mismatch for key {part.name} expected: {part.type} "
                f"actual: {actual}"
            )
        if not value[part.type]:
            raise ValidationException(_NOT_VALID + _empty_text(part) + f" Key: {part.name}")
    return _encoded(table.parts, item)


def _encoded(parts: tuple[KeyPart, ...], item: Item) -> bytes:
    encoded = item_key(parts, item)
    # An encoding is never shorter than what it encodes, so most keys need no measuring.
    if len(encoded) > SORT_KEY_BYTES_MAX:
        _check_lengths(parts[:1], parts[1:], item)
    return encoded


def check_batch_put(table: Table, item: Item) -> None:
    """Refuse an item of a batch without its key, which AWS words as for a Key."""
    for part in table.parts:
        value = item.get(part.name)
        if value is None or part.type not in value:
            raise ValidationException(_MISMATCH)


def check_empty_keys(table: Table, item: Item) -> None:
    """Refuse an item or key with an empty key attribute."""
    for part in table.parts:
        value = item.get(part.name)
        if value is not None and value.get(part.type) == "":
            raise ValidationException(_NOT_VALID + _empty_text(part) + f" Key: {part.name}")


def check_index_keys(table: Table, item: Item) -> None:
    """Refuse an item with an index key attribute that the index could not hold."""
    for index in table.indexes:
        for part in index.parts:
            value = item.get(part.name)
            if value is not None:
                content = value.get(part.type)
                if not content or len(content) > _SHORT_CHARACTERS:
                    _check_index_keys_closely(table, item)
                    return


def _check_index_keys_closely(table: Table, item: Item) -> None:
    for index in table.indexes:
        for part in index.parts:
            value = item.get(part.name)
            if value is not None:
                _check_index_type(index, part, value)
    check_empty_index_keys(table, item)
    for index in table.indexes:
        _check_lengths(index.partition, index.sort, item)


def check_empty_index_keys(table: Table, item: Item) -> None:
    """Refuse an item with an empty index key attribute."""
    for index in table.indexes:
        for part in index.parts:
            value = item.get(part.name)
            if value is not None and value.get(part.type) == "":
                raise ValidationException(
                    f"{_NOT_VALID}A value specified for a secondary index key is not supported. "
                    f"{_empty_text(part)} IndexName: {index.name}, IndexKey: {part.name}"
                )


def check_updated_index_keys(table: Table, update: Update, item: Item) -> None:
    """Refuse an updated item if the update gave an index key a value that the index cannot hold."""
    for index in table.indexes:
        for part in index.parts:
            value = item.get(part.name) if part.name in update.attributes else None
            if value is None:
                continue
            if part.type not in value:
                if update.given(part.name) is not None:
                    _check_index_type(index, part, value)
                raise ValidationException(
                    "The update expression attempted to update the secondary index key to "
                    "unsupported type"
                )
            if value[part.type] == "":
                raise _empty_index_key(part)
            _check_lengths(index.partition, index.sort, item)


def check_given_index_keys(table: Table, update: Update) -> None:
    """Refuse an update that sets an index key to an empty value of the request."""
    for index in table.indexes:
        for part in index.parts:
            value = update.given(part.name)
            if value is not None and value.get(part.type) == "":
                raise _empty_index_key(part)


def _empty_index_key(part: KeyPart) -> ValidationException:
    return ValidationException(
        f"{_NOT_VALID}The update expression attempted to update a secondary index key to a value "
        f"that is not supported. {_empty_text(part)}"
    )


def _check_index_type(index: Index, part: KeyPart, value: Value) -> None:
    if part.type not in value:
        raise ValidationException(
            f"{_INVALID}Type mismatch for Index Key {part.name} Expected: {part.type} "
            f"Actual: {next(iter(value))} IndexName: {index.name}"
        )


def key_of(table: Table, index: Index | None, item: Item) -> dict[str, Any]:
    """Return the attributes of an item that make up its LastEvaluatedKey."""
    names = table.key_names if index is None else (*table.key_names, *index.key_names)
    return {name: item[name] for name in names}


def _empty_text(part: KeyPart) -> str:
    return _EMPTY + ("binary value." if part.type == "B" else "string value.")


def _check_lengths(partition: tuple[KeyPart, ...], sort: tuple[KeyPart, ...], item: Item) -> None:
    size = 0
    for part in partition:
        if part.name in item:
            size += value_size(item[part.name])
    if size > PARTITION_KEY_BYTES_MAX:
        raise ValidationException(
            f"{_INVALID}Size of hashkey has exceeded the maximum size limit of"
            f"{PARTITION_KEY_BYTES_MAX} bytes"
        )
    size = 0
    for part in sort:
        if part.name in item:
            size += value_size(item[part.name])
    if size > SORT_KEY_BYTES_MAX:
        raise ValidationException(
            f"{_INVALID}Aggregated size of all range keys has exceeded the size limit of "
            f"{SORT_KEY_BYTES_MAX} bytes"
        )
