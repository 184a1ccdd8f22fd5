"""Tags of scalable targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from hashrange.neighbours.autoscaling.answers import world_of
from hashrange.neighbours.service import Parameters, Result, Scope, ServiceError
from hashrange.scaling.store import Document, ScalingStore

_TAGS_MAX: Final = 50


@final
class Tags:
    """The operations on tags."""

    def __init__(self, store: ScalingStore) -> None:
        self._store = store

    async def list_tags(self, scope: Scope, parameters: Parameters) -> Result:
        target = await self._find(scope, parameters["ResourceARN"])
        return {"Tags": target.get("Tags") or {}}

    async def tag(self, scope: Scope, parameters: Parameters) -> Result:
        def add(tags: dict[str, str]) -> None:
            tags |= parameters["Tags"]
            if len(tags) > _TAGS_MAX:
                raise ServiceError(
                    "TooManyTagsException", f"A resource has at most {_TAGS_MAX} tags"
                )

        return await self._change(scope, parameters["ResourceARN"], add)

    async def untag(self, scope: Scope, parameters: Parameters) -> Result:
        def remove(tags: dict[str, str]) -> None:
            for key in parameters["TagKeys"]:
                tags.pop(key, None)

        return await self._change(scope, parameters["ResourceARN"], remove)

    async def _change(
        self, scope: Scope, arn: str, change: Callable[[dict[str, str]], None]
    ) -> Result:
        target = await self._find(scope, arn)

        def edit(known: Document | None) -> Document:
            if known is None:
                raise _not_found(arn)
            tags = dict(known.get("Tags") or {})
            change(tags)
            return {**known, "Tags": tags}

        await self._store.change(
            world_of(scope), target["ResourceId"], target["ScalableDimension"], edit
        )
        return {}

    async def _find(self, scope: Scope, arn: str) -> Document:
        for _, target in await self._store.targets(world_of(scope)):
            if target["ScalableTargetARN"] == arn:
                return target
        raise _not_found(arn)


def _not_found(arn: str) -> ServiceError:
    return ServiceError(
        "ResourceNotFoundException", f"The specified resource does not exist: {arn}"
    )
