"""Key templates: how the value of a key attribute is made from the fields of an entity.

    USER#{user_id}                   text and a field
    {score:010d}                     a number, padded with zeros so that text order is number order
    {created_at:%Y-%m}               a time bucket: a datetime, or ISO text, cut to year and month
    STATUS#{status}#{order_id:shard 8}
                                     write sharding: 00 to 07, computed from the field's value

A doubled brace stands for the brace itself. A template is parsed once; parsing refuses what
cannot be formatted. Templates are pure: they know no table and no client.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Final, final

from hashrange.toolkit.errors import DesignError

_PIECES: Final = re.compile(r"\{\{|\}\}|\{(\w+)(?::([^{}]+))?\}|[^{}]+|[{}]")
_SHARD: Final = re.compile(r"shard (\d+)")
_PADDED: Final = re.compile(r"0(\d+)d")
_TEMPLATES_MAX: Final = 4096
SHARDS_MAX: Final = 1000
BUCKETS_MAX: Final = 1000

_BUCKET_STEPS: Final = {
    "%S": timedelta(seconds=1),
    "%M": timedelta(minutes=1),
    "%H": timedelta(hours=1),
    "%d": timedelta(days=1),
    "%j": timedelta(days=1),
    "%V": timedelta(days=1),
    "%m": timedelta(days=1),
    "%Y": timedelta(days=1),
}
"""The finest directive decides in which steps the buckets of a range are enumerated."""


@final
@dataclass(frozen=True, slots=True)
class Placeholder:
    """One `{field}` of a template. At most one of `shards`, `bucket` and `width` is set."""

    field: str
    shards: int = 0
    bucket: str = ""
    width: int = 0

    def render(self, value: Any) -> str:
        """Return the text this placeholder stands for, given the value of its field."""
        if self.shards:
            return self.shard_text(shard_of(value, self.shards))
        if self.bucket:
            return _as_datetime(value).strftime(self.bucket)
        if self.width:
            return _padded(value, self.width)
        return _as_text(value)

    def shard_text(self, number: int) -> str:
        """Return a shard number as text, padded so that all shards have the same width."""
        return str(number).zfill(len(str(self.shards - 1)))

    @property
    def is_computed(self) -> bool:
        """True for shards and time buckets, whose value cannot be read back as the field."""
        return bool(self.shards or self.bucket)


Part = str | Placeholder


@final
@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """A parsed template: literal texts and placeholders, in order."""

    text: str
    parts: tuple[Part, ...]

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        return tuple(part for part in self.parts if isinstance(part, Placeholder))

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, each once, in the order of their first use."""
        return tuple(dict.fromkeys(placeholder.field for placeholder in self.placeholders))

    @property
    def prefix(self) -> str:
        """The literal text before the first placeholder: what all keys of the entity share."""
        head = self.parts[0] if self.parts else ""
        return head if isinstance(head, str) else ""

    @property
    def is_constant(self) -> bool:
        return not self.placeholders

    @property
    def is_bare(self) -> bool:
        """True for a lone `{field}`: the key holds the field's value, whatever its type."""
        return len(self.parts) == 1 and self.parts == tuple(map(Placeholder, self.fields))

    @property
    def shards(self) -> int:
        """How many shards the template writes to; 1 without write sharding."""
        product = 1
        for placeholder in self.placeholders:
            product *= placeholder.shards or 1
        return product

    @property
    def bucket(self) -> str:
        """The strftime format of the time bucket in the template, or an empty text."""
        return next((each.bucket for each in self.placeholders if each.bucket), "")

    def render(self, values: Mapping[str, Any]) -> Any:
        """Return the key for the values of the fields.

        A bare `{field}` gives the value as it is, so that number and binary keys keep their type.
        """
        missing = [name for name in self.fields if values.get(name) is None]
        if missing:
            raise DesignError(f"the key {self.text!r} needs {', '.join(missing)}")
        if self.is_bare:
            return values[self.fields[0]]
        return "".join(
            part if isinstance(part, str) else part.render(values[part.field])
            for part in self.parts
        )

    def render_prefix(self, values: Mapping[str, Any]) -> str:
        """Return the key up to the first field that is not given: a prefix for `begins_with`."""
        pieces: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
            elif values.get(part.field) is None:
                break
            else:
                pieces.append(part.render(values[part.field]))
        return "".join(pieces)

    def render_all(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return every key a reader must ask for.

        Shards of a field that is not given are enumerated. A time bucket whose field is a pair
        `(start, end)` is enumerated from start to end, both included. Everything else is one key.
        """
        keys: list[list[str]] = [[]]
        if self.is_bare:
            return (self.render(values),)
        for part in self.parts:
            choices = [part] if isinstance(part, str) else _choices(part, values, self.text)
            keys = [[*key, choice] for key in keys for choice in choices]
            if len(keys) > SHARDS_MAX:
                raise DesignError(f"the key {self.text!r} would need more than {SHARDS_MAX} reads")
        return tuple("".join(key) for key in keys)

    def render_groups(self, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], ...]:
        """Return every key a reader must ask for, those of each time bucket together, in order."""
        spans = {
            each.field: buckets_between(values[each.field][0], values[each.field][1], each.bucket)
            for each in self.placeholders
            if each.bucket and isinstance(values.get(each.field), tuple)
        }
        if not spans:
            return (self.render_all(values),)
        if len(spans) > 1:
            raise DesignError(f"the key {self.text!r} has more than one time bucket")
        ((field, texts),) = spans.items()
        return tuple(self._in_bucket(field, text).render_all(values) for text in texts)

    def _in_bucket(self, field: str, text: str) -> KeyTemplate:
        """Return the template with the time bucket of a field replaced by a literal text."""
        parts = (
            text if isinstance(part, Placeholder) and part.bucket and part.field == field else part
            for part in self.parts
        )
        return KeyTemplate(self.text, tuple(parts))

    def parse(self, key: Any) -> dict[str, Any] | None:
        """Return the fields a key was made from, or None if the template cannot have made it.

        Shards and time buckets are matched but not returned; padded numbers come back as int.
        """
        if self.is_bare:
            return {self.fields[0]: key}
        if not isinstance(key, str):
            return None
        match = _pattern(self.text).fullmatch(key)
        if match is None:
            return None
        widths = {each.field: each.width for each in self.placeholders if not each.is_computed}
        return {
            name: int(text) if widths[name] else text for name, text in match.groupdict().items()
        }


@lru_cache(maxsize=_TEMPLATES_MAX)
def parse_template(text: str) -> KeyTemplate:
    """Parse a template; raise DesignError for a brace that does not match or an unknown format."""
    parts: list[Part] = []
    for match in _PIECES.finditer(text):
        piece = match.group()
        if match.group(1):
            parts.append(_placeholder(match.group(1), match.group(2), text))
        elif piece in "{}":
            raise DesignError(f"the key template {text!r} has a brace without its counterpart")
        else:
            literal = piece[0] if piece in ("{{", "}}") else piece
            if parts and isinstance(parts[-1], str):
                parts[-1] += literal
            else:
                parts.append(literal)
    return KeyTemplate(text, tuple(parts))


def shard_of(value: Any, shards: int) -> int:
    """Return the shard a value belongs to: stable between processes, versions and languages.

    It is the CRC-32 of the value's text in UTF-8, modulo the number of shards.
    """
    return zlib.crc32(_as_text(value).encode()) % shards


def buckets_between(start: Any, end: Any, bucket: str) -> tuple[str, ...]:
    """Return the time buckets from start to end, both included, oldest first."""
    first, last = _as_datetime(start), _as_datetime(end)
    step = next((step for sign, step in _BUCKET_STEPS.items() if sign in bucket), None)
    if step is None:
        raise DesignError(f"the time bucket {bucket!r} has no directive that can be enumerated")
    found: dict[str, None] = {}
    moment = first
    while moment < last + step and len(found) <= BUCKETS_MAX:
        text = min(moment, last).strftime(bucket)
        found[text] = None
        moment += step
    if len(found) > BUCKETS_MAX:
        raise DesignError(
            f"there are more than {BUCKETS_MAX} time buckets between {start} and {end}"
        )
    return tuple(found)


def _placeholder(field: str, spec: str | None, text: str) -> Placeholder:
    if spec is None:
        return Placeholder(field)
    if match := _SHARD.fullmatch(spec):
        shards = int(match.group(1))
        if not 2 <= shards <= SHARDS_MAX:
            raise DesignError(f"the key template {text!r} must have 2 to {SHARDS_MAX} shards")
        return Placeholder(field, shards=shards)
    if match := _PADDED.fullmatch(spec):
        return Placeholder(field, width=int(match.group(1)))
    if "%" in spec:
        return Placeholder(field, bucket=spec)
    raise DesignError(
        f"the key template {text!r} has an unknown format {spec!r}: "
        "use 'shard N', a strftime format or a padded number such as 010d"
    )


def _choices(part: Placeholder, values: Mapping[str, Any], text: str) -> list[str]:
    value = values.get(part.field)
    if part.shards and value is None:
        return [part.shard_text(number) for number in range(part.shards)]
    if part.bucket and isinstance(value, tuple):
        return list(buckets_between(value[0], value[1], part.bucket))
    if value is None:
        raise DesignError(f"the key {text!r} needs {part.field}")
    return [part.render(value)]


@lru_cache(maxsize=_TEMPLATES_MAX)
def _pattern(text: str) -> re.Pattern[str]:
    """Return the expression that matches the keys of a template, with a group for each field."""
    pieces: list[str] = []
    seen: set[str] = set()
    for part in parse_template(text).parts:
        if isinstance(part, str):
            pieces.append(re.escape(part))
        elif part.shards:
            pieces.append(rf"\d{{{len(str(part.shards - 1))}}}")
        elif part.bucket:
            pieces.append(".+?")
        elif part.field in seen:
            pieces.append(f"(?P={part.field})")
        else:
            seen.add(part.field)
            shape = rf"\d{{{part.width}}}" if part.width else ".+?"
            pieces.append(f"(?P<{part.field}>{shape})")
    return re.compile("".join(pieces), re.DOTALL)


def _as_text(value: Any) -> str:
    if isinstance(value, Enum):
        return _as_text(value.value)
    if isinstance(value, datetime):
        return iso_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool | float | bytes):
        raise DesignError(f"a key cannot be made from {type(value).__name__} {value!r}")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def iso_text(moment: datetime) -> str:
    """Return a moment as ISO 8601 in UTC, to the microsecond, so that text order is time order."""
    if moment.tzinfo is None:
        raise DesignError(f"the datetime {moment.isoformat()} needs a time zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _as_datetime(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return datetime.fromtimestamp(int(value), tz=UTC)
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise DesignError(
            f"{value!r} is not a time: use a datetime, ISO text or seconds"
        ) from error
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _padded(value: Any, width: int) -> str:
    number = int(value)
    if number != value or number < 0:
        raise DesignError(f"only whole numbers from 0 can be padded in a key, not {value!r}")
    text = str(number).zfill(width)
    if len(text) > width:
        raise DesignError(f"{value!r} has more than {width} digits")
    return text


def literal_template(text: str) -> str:
    """Return the template that stands for a literal text: braces are doubled."""
    return text.replace("{", "{{").replace("}", "}}")


def iterate_fields(*templates: str) -> Iterator[str]:
    """Yield the field names of several templates, in order, with repetitions."""
    for text in templates:
        yield from parse_template(text).fields
