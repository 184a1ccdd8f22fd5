"""Finds the operation of a REST request by method, path and query, as the model binds them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, final
from urllib.parse import parse_qsl, unquote

from hashrange.errors import SerializationException
from hashrange.limits import CALL_ITEMS_MAX
from hashrange.wire.http.messages import HttpRequest
from hashrange.wire.protocols.document_values import wire_name
from hashrange.wire.protocols.service_models import OperationModel, ServiceModel

Query = Mapping[str, Sequence[str]]

_LABEL: Final = re.compile(r"\{(.+?)(\+?)\}")


def read_query(request: HttpRequest) -> dict[str, list[str]]:
    """Return the parameters of a URL; each may occur several times."""
    text = request.head.url.partition(b"?")[2].decode("latin-1")
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=CALL_ITEMS_MAX)
    except ValueError:
        raise SerializationException("The query string has too many parameters") from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def path_of(request: HttpRequest) -> str:
    """Return the path of a URL, as it was sent."""
    return request.head.url.partition(b"?")[0].decode("latin-1")


@final
class Route:
    """Where an operation is found: a pattern for the path, and what must be in the query."""

    __slots__ = (
        "_is_current",
        "_labels",
        "_method",
        "_path",
        "_query",
        "_required_headers",
        "_required_query",
        "literals",
        "name",
    )

    def __init__(self, operation: OperationModel) -> None:
        path, _, query = operation.http["requestUri"].partition("?")
        self.name = operation.name
        self._is_current = not operation.deprecated
        self._method = operation.http["method"].encode()
        self._labels = [match[1] for match in _LABEL.finditer(path)]
        self._path = _pattern(path)
        # How much of the path is not a label: the more, the better a match.
        self.literals = len(_LABEL.sub("", path))
        self._query = parse_qsl(query, keep_blank_values=True)
        members = operation.input_shape.members if operation.input_shape is not None else {}
        required = set(
            operation.input_shape.metadata.get("required", ())
            if operation.input_shape is not None
            else ()
        )
        bound = [
            (shape.serialization.get("location"), wire_name(shape, name))
            for name, shape in members.items()
            if name in required
        ]
        self._required_query = [name for location, name in bound if location == "querystring"]
        self._required_headers = [
            name.lower().encode() for location, name in bound if location == "header"
        ]

    def labels(self, path: str) -> dict[str, str]:
        """Return the parts of a matching path by their labels."""
        match = self._path.fullmatch(path) or self._path.fullmatch(path.rstrip("/"))
        assert match is not None, "the route was chosen for this path"
        values = [unquote(value) for value in match.groups()]
        return dict(zip(self._labels, values, strict=True))

    def rank(self, request: HttpRequest, path: str, query: Query) -> tuple[int, ...] | None:
        """Return how well a request matches, the greater the better; None if it does not."""
        if self._method != request.head.method:
            return None
        if not (self._path.fullmatch(path) or self._path.fullmatch(path.rstrip("/"))):
            return None
        for name, value in self._query:
            if name not in query or (value and value not in query[name]):
                return None
        present = sum(name in query for name in self._required_query)
        present += sum(name in request.headers for name in self._required_headers)
        missing = len(self._required_query) + len(self._required_headers) - present
        return len(self._query), -missing, present, self.literals, self._is_current


def _pattern(path: str) -> re.Pattern[str]:
    pattern = ""
    position = 0
    for match in _LABEL.finditer(path):
        pattern += re.escape(path[position : match.start()])
        pattern += "(.+)" if match[2] else "([^/]+)"
        position = match.end()
    return re.compile(pattern + re.escape(path[position:].rstrip("/") if position else path))


@final
class Routes:
    """The routes of one service."""

    def __init__(self, model: ServiceModel) -> None:
        self._routes = [Route(model.operation(name)) for name in sorted(model.operation_names)]

    def find(self, request: HttpRequest) -> Route | None:
        """Return the route that matches a request best."""
        path, query = path_of(request), read_query(request)
        ranked = [(route.rank(request, path, query), route) for route in self._routes]
        matching = [(rank, route) for rank, route in ranked if rank is not None]
        return max(matching, key=lambda pair: pair[0])[1] if matching else None
