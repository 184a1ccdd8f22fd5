"""Values made from botocore's shapes: deterministic, within the constraints of the model.

Every value is one that a round trip can give back: times are whole milliseconds (whole seconds
where a protocol has no more), structures and payloads are never empty where that looks like
absence, and what becomes a part of a header is plain text in lower case.
"""

import random
import string
from datetime import UTC, datetime, timedelta
from typing import Any

LETTERS = string.ascii_letters + string.digits + " <&>\"'é€%+/=,.:"
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
LEVELS_MAX = 6
LENGTH_MAX = 8


class Generator:
    """Makes values of shapes from a seed."""

    def __init__(self, seed: str, *, milliseconds: bool = False, fill: float = 0.6) -> None:
        self._random = random.Random(seed)
        self._milliseconds = milliseconds
        self._fill = fill

    def structure(self, shape: Any, level: int = 0) -> dict[str, Any]:
        """Return a structure with its required members and some of the others."""
        required = set(shape.metadata.get("required", ())) | {shape.serialization.get("payload")}
        chosen = {}
        names = [name for name in shape.members if not self._is_left_out(shape.members[name])]
        if shape.metadata.get("union"):
            names = [self._random.choice(names)]
            required = set(names)
        for name in names:
            member = shape.members[name]
            if member.serialization.get("location") == "statusCode":
                chosen[name] = 202
                continue
            is_deep = level >= LEVELS_MAX and member.type_name in ("structure", "list", "map")
            if name in required or (not is_deep and self._random.random() < self._fill):
                chosen[name] = self.value(member, level + 1)
        is_payload = shape.serialization.get("payload") is not None
        if not chosen and names and (level or is_payload):
            scalars = [n for n in names if shape.members[n].type_name not in ("structure", "list")]
            name = (scalars or names)[0]
            chosen[name] = self.value(shape.members[name], level + 1)
        return chosen

    def _is_left_out(self, shape: Any) -> bool:
        """Tell whether a member cannot be sent: event streams, and payloads that are files."""
        return bool(shape.serialization.get("eventstream"))

    def value(self, shape: Any, level: int = 0) -> Any:
        """Return a value of any shape."""
        kind = shape.type_name
        if kind == "structure":
            return self.structure(shape, level)
        if kind == "list":
            return [self.value(shape.member, level + 1) for _ in range(self._count(shape))]
        if kind == "map":
            if shape.serialization.get("location"):
                return {f"key-{number}": "some text" for number in range(self._count(shape))}
            return {
                self.value(shape.key): self.value(shape.value, level + 1)
                for _ in range(self._count(shape))
            }
        return getattr(self, f"_{kind}")(shape)

    def _count(self, shape: Any) -> int:
        least = max(shape.metadata.get("min", 1), 1)
        return self._random.randint(least, max(least, min(shape.metadata.get("max", 3), 3)))

    def _string(self, shape: Any) -> Any:
        if shape.serialization.get("jsonvalue"):
            return {"key": self._random.randint(0, 9)}
        if shape.metadata.get("enum"):
            return self._random.choice(shape.metadata["enum"])
        least = max(shape.metadata.get("min", 1), 1)
        most = max(least, min(shape.metadata.get("max", LENGTH_MAX), LENGTH_MAX))
        length = self._random.randint(least, most)
        # Header values lose outer spaces and can hold no more than ASCII without quoting.
        letters = string.ascii_letters if shape.serialization.get("location") else LETTERS
        text = "".join(self._random.choice(letters) for _ in range(length))
        return "".join(c if 0 < i < length - 1 or c != " " else "x" for i, c in enumerate(text))

    def _integer(self, shape: Any) -> int:
        least, most = shape.metadata.get("min", -5), shape.metadata.get("max", 2**31 - 1)
        return self._random.randint(least, max(least, most))

    def _long(self, shape: Any) -> int:
        least, most = shape.metadata.get("min", -5), shape.metadata.get("max", 2**53)
        return self._random.randint(least, max(least, most))

    def _double(self, shape: Any) -> float:
        least, most = shape.metadata.get("min", -1e6), shape.metadata.get("max", 1e6)
        return self._random.uniform(least, most)

    def _float(self, shape: Any) -> float:
        # A number that thirty-two bits hold exactly.
        least, most = shape.metadata.get("min", -4), shape.metadata.get("max", 4)
        return self._random.randint(int(least), int(most)) * 1.0

    def _boolean(self, shape: Any) -> bool:
        return self._random.random() < 0.5

    def _blob(self, shape: Any) -> bytes:
        least = max(shape.metadata.get("min", 1), 1)
        return self._random.randbytes(least + self._random.randint(0, 3))

    def _timestamp(self, shape: Any) -> datetime:
        is_fine = self._milliseconds and shape.serialization.get("location") is None
        is_fine = is_fine and shape.serialization.get("timestampFormat") != "rfc822"
        milliseconds = self._random.randrange(10**10)
        if not is_fine:
            milliseconds -= milliseconds % 1000
        return EPOCH + timedelta(milliseconds=milliseconds)
