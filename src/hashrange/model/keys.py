"""Key bytes: order-preserving, self-delimiting encodings of key attributes.

Promise: for two values of one type, the order of their encodings is the order of the values, and
no encoding is the beginning of another, so that encodings can be joined. A key is the placement
(a hash of the partition part, which gives a scan the order it has on AWS) and the encoded parts.
The format with test vectors is in docs/internals/keys.md; changing it makes stored tables
unreadable.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64, hexlify, unhexlify
from collections.abc import Sequence
from typing import Any, Final

try:  # For short texts Python's own MD5 is twice as fast as OpenSSL's, which hashlib prefers.
    from _md5 import md5  # type: ignore[import-not-found]  # it has no stub
except ImportError:
    from hashlib import md5 as _secure_md5

    def md5(content: bytes) -> Any:
        """Return the hash object of a text, also where MD5 is forbidden for security."""
        return _secure_md5(content, usedforsecurity=False)


from hashrange.limits import NUMBER_EXPONENT_MIN, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from hashrange.model.numbers import plain
from hashrange.model.schema import Index, KeyPart, Table
from hashrange.model.values import Item, Value, value_size

PLACEMENT_BYTES: Final = 4

_END: Final = b"\x00\x00"
_NUL: Final = b"\x00"
_NUL_CHARACTER: Final = "\0"
_ESCAPED_NUL: Final = b"\x00\xff"

# First byte of a number.
_NEGATIVE: Final = 0
_ZERO: Final = 1
_ENCODED_ZERO: Final = bytes((_ZERO,))
_POSITIVE: Final = 2
# Mantissa bytes hold two decimal digits each. They start at 1, to leave a smaller byte for the
# end; those of negative numbers are complements.
_POSITIVE_DIGITS: Final = bytes(min(byte + 1, 255) for byte in range(256))
_NEGATIVE_DIGITS: Final = bytes(max(254 - byte, 0) for byte in range(256))
_POSITIVE_END: Final = b"\x00"
_NEGATIVE_END: Final = b"\xff"
_POSITIVE_DIGITS_BACK: Final = bytes(max(byte - 1, 0) for byte in range(256))
_NEGATIVE_DIGITS_BACK: Final = bytes(max(254 - byte, 0) for byte in range(256))

# Greater than every key: only placement and binary content can be runs of FF bytes.
_LAST: Final = b"\xff" * (PLACEMENT_BYTES + PARTITION_KEY_BYTES_MAX + 1)


# The hashed content starts with this word, as on AWS.
_HASHED_FIRST: Final = b"Outliers"
# Numbers as they are hashed: an exponent of 100, then a byte for each digit of base 100.
_HASHED_ZERO: Final = b"\x80"
_HASHED_POSITIVE: Final = 0xC1
_HASHED_NEGATIVE: Final = 0x3E
_HASHED_NEGATIVE_END: Final = b"\x66"
_HASHED_PAIRS_MAX: Final = 20
# From two digits in binary-coded decimal to the byte of their pair.
_POSITIVE_PAIRS: Final = bytes(min(10 * (byte >> 4) + (byte & 15) + 1, 255) for byte in range(256))
_NEGATIVE_PAIRS: Final = bytes(max(101 - 10 * (byte >> 4) - (byte & 15), 0) for byte in range(256))


def encode_part(type: str, value: Value) -> bytes:
    """Return the encoding of a key attribute of this type."""
    if type == "N":
        return _encode_number(value["N"])
    content: bytes = value["S"].encode() if type == "S" else a2b_base64(value["B"])
    return content.replace(_NUL, _ESCAPED_NUL) + _END


def prefix_part(type: str, value: Value) -> bytes:
    """Return the common prefix of the encodings of all values (S or B) that begin with this one."""
    return encode_part(type, value)[:-2]


def _encode_number(text: str) -> bytes:
    if text.isdecimal():
        if text == "0":
            return _ENCODED_ZERO
        digits = text.rstrip("0")
        if len(digits) & 1:
            digits += "0"
        head = bytes((_POSITIVE, len(text) - 1 - NUMBER_EXPONENT_MIN))
        return head + unhexlify(digits).translate(_POSITIVE_DIGITS) + _POSITIVE_END
    negative = text[0] == "-"
    whole, _, fraction = (text[1:] if negative else text).partition(".")
    if whole != "0":
        exponent = len(whole) - 1
        digits = (whole + fraction).rstrip("0")
    else:
        digits = fraction.lstrip("0")
        exponent = len(digits) - len(fraction) - 1
    if len(digits) & 1:
        digits += "0"
    biased = exponent - NUMBER_EXPONENT_MIN
    if negative:
        mantissa = unhexlify(digits).translate(_NEGATIVE_DIGITS)
        return bytes((_NEGATIVE, 255 - biased)) + mantissa + _NEGATIVE_END
    return (
        bytes((_POSITIVE, biased)) + unhexlify(digits).translate(_POSITIVE_DIGITS) + _POSITIVE_END
    )


def successor(prefix: bytes) -> bytes:
    """Return the smallest bytes greater than everything that starts with `prefix`.

    For the empty prefix and for runs of FF there is none, and a bound above every key is returned.
    """
    body = prefix.rstrip(b"\xff")
    if not body:
        return _LAST
    return body[:-1] + bytes((body[-1] + 1,))


def placement(content: bytes) -> bytes:
    """Return the bytes that scatter partitions over the key space: a hash of the partition key."""
    digest: bytes = md5(_HASHED_FIRST + content).digest()
    return digest[:PLACEMENT_BYTES]


def hashed_content(type: str, value: Value) -> bytes:
    """Return the bytes of a partition key attribute that the placement hashes."""
    if type == "S":
        text: str = value["S"]
        return text.encode()
    return a2b_base64(value["B"]) if type == "B" else _hashed_number(value["N"])


def _hashed_number(text: str) -> bytes:
    if text.isdecimal():
        if text == "0":
            return _HASHED_ZERO
        pairs = unhexlify("0" + text if len(text) & 1 else text)
        head = bytes((_HASHED_POSITIVE + len(pairs) - 1,))
        return head + pairs.rstrip(_NUL).translate(_POSITIVE_PAIRS)
    negative = text[0] == "-"
    whole, _, fraction = (text[1:] if negative else text).partition(".")
    if whole == "0":
        whole = ""
    elif len(whole) & 1:
        whole = "0" + whole
    if len(fraction) & 1:
        fraction += "0"
    pairs = unhexlify(whole + fraction).rstrip(_NUL)
    exponent = len(whole) // 2 - 1
    if not whole:
        exponent -= len(pairs)
        pairs = pairs.lstrip(_NUL)
        exponent += len(pairs)
    if not negative:
        return bytes((_HASHED_POSITIVE + exponent,)) + pairs.translate(_POSITIVE_PAIRS)
    end = _HASHED_NEGATIVE_END if len(pairs) < _HASHED_PAIRS_MAX else b""
    return bytes((_HASHED_NEGATIVE - exponent,)) + pairs.translate(_NEGATIVE_PAIRS) + end


def partition_start(parts: Sequence[KeyPart], values: Sequence[Value]) -> bytes:
    """Return the common key prefix of a partition: its placement and its encoded attributes."""
    content = encoded = b""
    for part, value in zip(parts, values, strict=True):
        content += hashed_content(part.type, value)
        encoded += encode_part(part.type, value)
    return placement(content) + encoded


def item_key(parts: tuple[KeyPart, ...], key: Item) -> bytes:
    """Return the key of the item with these key attributes in a table with these key parts."""
    part = parts[0]
    value = key[part.name]
    hashed = placement(hashed_content(part.type, value)) + encode_part(part.type, value)
    if len(parts) == 1:
        return hashed
    part = parts[1]
    return hashed + encode_part(part.type, key[part.name])


def plain_key(table: Table, item: Item) -> bytes | None:
    """Return the key of an item if it is plain, or None: it has to be looked at.

    Plain are strings that are short, not empty and without NUL, as nearly all keys are; nothing is
    wrong with those. Takes a third of the time of looking closely, for each key of a request.
    """
    encoded = b""
    try:
        for name in table.string_names:
            value = item[name]
            content = value["S"]
            if not content or len(value) != 1 or _NUL_CHARACTER in content:
                return None
            part = content.encode()
            if encoded:
                encoded += part + _END
            else:  # `placement`, spelt out
                encoded = md5(_HASHED_FIRST + part).digest()[:PLACEMENT_BYTES] + part + _END
    except (AttributeError, KeyError, TypeError):
        return None
    return encoded if 0 < len(encoded) <= SORT_KEY_BYTES_MAX else None


def index_key(index: Index, table: Table, item: Item) -> bytes | None:
    """Return the key of an item's row in an index, or None when the item is not in the index.

    An item older than the index may have a key value of another type, an empty one or one that is
    too long. Such an item is not in the index.
    """
    values: list[Value] = []
    for part in index.partition:
        value = item.get(part.name)
        if value is None or not value.get(part.type):
            return None
        values.append(value)
    encoded = partition_start(index.partition, values)
    start = len(encoded)
    if start > PARTITION_KEY_BYTES_MAX and _size(index.partition, item) > PARTITION_KEY_BYTES_MAX:
        return None
    for part in index.sort:
        value = item.get(part.name)
        if value is None or not value.get(part.type):
            return None
        encoded += encode_part(part.type, value)
    if len(encoded) - start > SORT_KEY_BYTES_MAX and _size(index.sort, item) > SORT_KEY_BYTES_MAX:
        return None
    for part in table.parts:
        encoded += encode_part(part.type, item[part.name])
    return encoded


def _size(parts: tuple[KeyPart, ...], item: Item) -> int:
    return sum([value_size(item[part.name]) for part in parts])


def decode_key(types: Sequence[str], key: bytes) -> list[Value]:
    """Return the values of a key with parts of these types."""
    values: list[Value] = []
    position = PLACEMENT_BYTES
    for type in types:
        if type == "N":
            text, position = _decode_number(key, position)
            values.append({"N": text})
            continue
        content, position = _decode_bytes(key, position)
        if type == "S":
            values.append({"S": content.decode()})
        else:
            values.append({"B": b2a_base64(content, newline=False).decode()})
    return values


def _decode_bytes(key: bytes, position: int) -> tuple[bytes, int]:
    start = position
    while True:
        nul = key.index(_NUL, position)
        position = nul + 2
        if key[nul + 1] == 0:
            return key[start:nul].replace(_ESCAPED_NUL, _NUL), position


def _decode_number(key: bytes, position: int) -> tuple[str, int]:
    kind = key[position]
    if kind == _ZERO:
        return "0", position + 1
    negative = kind == _NEGATIVE
    biased = 255 - key[position + 1] if negative else key[position + 1]
    end = key.index(_NEGATIVE_END if negative else _POSITIVE_END, position + 2)
    back = _NEGATIVE_DIGITS_BACK if negative else _POSITIVE_DIGITS_BACK
    digits = hexlify(key[position + 2 : end].translate(back)).decode().rstrip("0")
    exponent = biased + NUMBER_EXPONENT_MIN
    return ("-" if negative else "") + plain(digits, exponent), end + 1
