"""A repository: the everyday operations on one entity, without declaring a pattern for each.

    users = Repository(shop.bound, user)
    users.create(User("7", "a@b")); users.get(user_id="7")
    users.update({"user_id": "7"}, name="Al")

`AsyncRepository` is the same on an `AsyncBoundDesign`, with awaited methods.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, final

from hashrange.toolkit.async_bound import AsyncBoundDesign
from hashrange.toolkit.bound import BoundDesign
from hashrange.toolkit.client.async_driver import AsyncPages
from hashrange.toolkit.client.pages import Pages
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.patterns import AccessPattern, Operation, SortCondition
from hashrange.toolkit.errors import DesignError, NotFound

Model = TypeVar("Model")


class _EntityCalls(Generic[Model]):
    """Makes the access patterns behind the operations of a repository, and calls them."""

    def __init__(self, bound: BoundDesign | AsyncBoundDesign, entity: Entity[Model]) -> None:
        self._bound = bound
        self._entity = bound.design.entity(entity.name)

    def _call(self, operation: Operation, arguments: dict[str, Any], **parts: Any) -> Any:
        name = f"{self._entity.name}_{operation}"
        pattern = AccessPattern(name, operation, (self._entity.name,), **parts)
        return self._bound.call(self._bound.design.completed(pattern), (), arguments)

    def _update(self, key: dict[str, Any], changes: dict[str, Any]) -> Any:
        if not changes:
            raise DesignError("an update needs something to change")
        version = self._entity.version
        expected = {version: changes.pop(version)} if version in changes else {}
        text = "SET " + ", ".join(f"#{name} = :{name}" for name in changes)
        return self._call("update", {**key, **changes, **expected}, update=text)

    def _collection(self, partition: dict[str, Any], limit: int | None) -> Any:
        table = self._bound.design.table(self._entity.table)
        sort = table.sort and self._entity.required_template(table.sort.name)
        condition = SortCondition("begins_with", sort.prefix) if sort and sort.prefix else None
        return self._call("query", {**partition, "limit": limit}, sort_key=condition)

    def _found(self, record: Model | None, key: dict[str, Any]) -> Model:
        if record is None:
            raise NotFound(f"there is no {self._entity.name} with {key}")
        return record


@final
class Repository(_EntityCalls[Model]):
    """Operations on the records of one entity of a bound design."""

    def __init__(self, bound: BoundDesign, entity: Entity[Model]) -> None:
        super().__init__(bound, entity)

    def get(self, *, consistent: bool = False, **key: Any) -> Model | None:
        """Return the record with a key, or None."""
        found: Model | None = self._call("get", {**key, "consistent": consistent})
        return found

    def require(self, *, consistent: bool = False, **key: Any) -> Model:
        """Return the record with a key; NotFound if there is none."""
        return self._found(self.get(consistent=consistent, **key), key)

    def create(self, record: Model) -> Model:
        """Write a record that must not exist."""
        created: Model = self._call("create", {"record": record})
        return created

    def save(self, record: Model) -> Model:
        """Write a record over the one that may be there."""
        saved: Model = self._call("put", {"record": record})
        return saved

    def update(self, key: dict[str, Any], **changes: Any) -> Model:
        """Set attributes of a record; index keys, version and unique values follow."""
        updated: Model = self._update(key, changes)
        return updated

    def delete(self, **key: Any) -> Model | None:
        """Delete a record; return it, or None if there was none."""
        deleted: Model | None = self._call("delete", key)
        return deleted

    def collection(self, *, limit: int | None = None, **partition: Any) -> Pages[Model]:
        """Return the records that share a partition key."""
        pages: Pages[Model] = self._collection(partition, limit)
        return pages


@final
class AsyncRepository(_EntityCalls[Model]):
    """Awaited operations on the records of one entity; see Repository."""

    def __init__(self, bound: AsyncBoundDesign, entity: Entity[Model]) -> None:
        super().__init__(bound, entity)

    async def get(self, *, consistent: bool = False, **key: Any) -> Model | None:
        """Return the record with a key, or None."""
        found: Model | None = await self._call("get", {**key, "consistent": consistent})
        return found

    async def require(self, *, consistent: bool = False, **key: Any) -> Model:
        """Return the record with a key; NotFound if there is none."""
        return self._found(await self.get(consistent=consistent, **key), key)

    async def create(self, record: Model) -> Model:
        """Write a record that must not exist."""
        created: Model = await self._call("create", {"record": record})
        return created

    async def save(self, record: Model) -> Model:
        """Write a record over the one that may be there."""
        saved: Model = await self._call("put", {"record": record})
        return saved

    async def update(self, key: dict[str, Any], **changes: Any) -> Model:
        """Set attributes of a record; index keys, version and unique values follow."""
        updated: Model = await self._update(key, changes)
        return updated

    async def delete(self, **key: Any) -> Model | None:
        """Delete a record; return it, or None if there was none."""
        deleted: Model | None = await self._call("delete", key)
        return deleted

    def collection(self, *, limit: int | None = None, **partition: Any) -> AsyncPages[Model]:
        """Return the records that share a partition key."""
        pages: AsyncPages[Model] = self._collection(partition, limit)
        return pages
