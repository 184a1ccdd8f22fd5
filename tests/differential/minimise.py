"""Make a differing request small: take away parts as long as the same difference remains."""

import copy
import re
from collections.abc import Callable
from typing import Any

from tests.differential.mutations import every_place, parent_of

ATTEMPTS_MAX = 250
WORD = re.compile(r"[:#]\w+")


def minimise(body: dict[str, Any], still_differs: Callable[[dict[str, Any]], bool]) -> Any:
    """Return a smaller request for which `still_differs` holds."""
    attempts = 0
    is_smaller = True
    while is_smaller and attempts < ATTEMPTS_MAX:
        is_smaller = False
        for path in every_place(body):
            attempts += 1
            if attempts > ATTEMPTS_MAX:
                break
            candidate = copy.deepcopy(body)
            parent = parent_of(candidate, path)
            del parent[path[-1]]
            if still_differs(candidate):
                body, is_smaller = candidate, True
                break
        if not is_smaller:
            body, is_smaller = shorten_expressions(body, still_differs)
    return body


def shorten_expressions(
    body: dict[str, Any], still_differs: Callable[[dict[str, Any]], bool]
) -> tuple[dict[str, Any], bool]:
    """Take runs of tokens out of the expressions."""
    for path in every_place(body):
        text = parent_of(body, path)[path[-1]]
        if not (isinstance(text, str) and str(path[-1]).endswith(("Expression", "Statement"))):
            continue
        tokens = text.split(" ")
        for width in range(min(12, len(tokens) - 1), 0, -1):
            for start in range(len(tokens) - width + 1):
                candidate = copy.deepcopy(body)
                shorter = " ".join(tokens[:start] + tokens[start + width :])
                parent_of(candidate, path)[path[-1]] = shorter
                drop_unused(candidate)
                if still_differs(candidate):
                    return candidate, True
    return body, False


def drop_unused(node: Any) -> None:
    """Take away placeholders no expression beside them names any more."""
    if isinstance(node, list):
        for child in node:
            drop_unused(child)
    if not isinstance(node, dict):
        return
    texts = [v for k, v in node.items() if k.endswith("Expression") and isinstance(v, str)]
    words = set(WORD.findall(" ".join(texts)))
    for part in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        mapping = node.get(part)
        if isinstance(mapping, dict) and texts:
            node[part] = {name: value for name, value in mapping.items() if name in words}
            if not node[part]:
                del node[part]
    for child in node.values():
        drop_unused(child)
