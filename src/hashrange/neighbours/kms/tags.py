"""KMS operations on the tags of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.keyring.records import Key
from hashrange.neighbours.kms.answers import KeyOperations, check_not_pending, page
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_TAGS_MAX: Final = 50


def read_tags(parameters: Parameters, before: dict[str, str]) -> dict[str, str]:
    """Return the tags of a request on top of those there were."""
    tags = before | {tag["TagKey"]: tag["TagValue"] for tag in parameters.get("Tags") or ()}
    if len(tags) > _TAGS_MAX:
        raise ServiceError("LimitExceededException", f"A key can have {_TAGS_MAX} tags.")
    if any(name.lower().startswith("aws:") for name in tags):
        raise ServiceError("TagException", "aws: prefixed tag key names are not allowed.")
    return tags


class Tags(KeyOperations):
    """Operations on tags."""

    async def tag(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(key: Key) -> None:
            check_not_pending(key)
            key.tags = read_tags(parameters, key.tags)

        await self.edit(await self.find_by_id(scope, parameters["KeyId"]), edit)
        return {}

    async def untag(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(key: Key) -> None:
            check_not_pending(key)
            for name in parameters["TagKeys"]:
                key.tags.pop(name, None)

        await self.edit(await self.find_by_id(scope, parameters["KeyId"]), edit)
        return {}

    async def list_tags(self, scope: Scope, parameters: Parameters) -> Result:
        key = await self.find_by_id(scope, parameters["KeyId"])
        shown = [{"TagKey": name, "TagValue": value} for name, value in key.tags.items()]
        return page(shown, parameters, "Tags")

    def operations(self) -> Mapping[str, Handler]:
        return {
            "ListResourceTags": self.list_tags,
            "TagResource": self.tag,
            "UntagResource": self.untag,
        }
