"""Updates that only take away: AWS does nothing to an absent item, DynamoDB Local makes one."""

import re
from collections.abc import Iterator
from typing import Any

SECTION = re.compile(r"\b(SET|ADD|REMOVE|DELETE)\b", re.IGNORECASE)


def updates_of(operation: str, body: Any) -> Iterator[dict[str, Any]]:
    """Return the updates in a request."""
    if not isinstance(body, dict):
        return
    members = [{"Update": body}] if operation == "UpdateItem" else body.get("TransactItems")
    for member in members if isinstance(members, list) else ():
        update = member.get("Update") if isinstance(member, dict) else None
        if isinstance(update, dict):
            yield update


def only_takes_away(update: dict[str, Any]) -> bool:
    """Tell whether an update has actions, and all of them REMOVE or DELETE."""
    expression, updates = update.get("UpdateExpression"), update.get("AttributeUpdates")
    if isinstance(expression, str):
        sections = {section.upper() for section in SECTION.findall(expression)}
    elif isinstance(updates, dict):
        sections = {str(u.get("Action")) if isinstance(u, dict) else "" for u in updates.values()}
    else:
        return False
    return bool(sections) and sections <= {"REMOVE", "DELETE"}
