"""IAM operations on groups and their members."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.identities.records import Identity
from hashrange.identities.sessions import new_unique_id
from hashrange.neighbours.iam.answers import (
    delete_conflict,
    page,
    read_name,
    read_path,
    show_identity,
)
from hashrange.neighbours.iam.entities import Entities
from hashrange.neighbours.iam.people import check_unused
from hashrange.neighbours.service import Handler, Parameters, Result, Scope


class Groups(Entities):
    """Operations on groups; membership is kept with the user."""

    async def create_group(self, scope: Scope, parameters: Parameters) -> Result:
        group = Identity(
            "group",
            scope.account,
            read_name(parameters, "GroupName"),
            read_path(parameters),
            new_unique_id("AGPA"),
            scope.clock.now(),
        )
        await self.create(group)
        return {"Group": show_identity(group)}

    async def get_group(self, scope: Scope, parameters: Parameters) -> Result:
        group = await self.find("group", scope, parameters["GroupName"])
        members = (await self.directory()).members(group)
        shown = [show_identity(user, is_listed=True) for user in members]
        return {"Group": show_identity(group), **page(shown, parameters, "Users")}

    async def list_groups(self, scope: Scope, parameters: Parameters) -> Result:
        prefix = parameters.get("PathPrefix") or "/"
        found = (await self.directory()).identities("group", scope.account)
        shown = [show_identity(group) for group in found if group.path.startswith(prefix)]
        return page(shown, parameters, "Groups")

    async def delete_group(self, scope: Scope, parameters: Parameters) -> Result:
        group = await self.find("group", scope, parameters["GroupName"])
        if (await self.directory()).members(group):
            raise delete_conflict("remove users from group")
        await self.delete("group", scope, group.name, check_unused)
        return {}

    async def add_user(self, scope: Scope, parameters: Parameters) -> Result:
        group = await self.find("group", scope, parameters["GroupName"])

        def edit(user: Identity) -> None:
            if group.name not in user.groups:
                user.groups.append(group.name)

        await self.edit("user", scope, parameters["UserName"], edit)
        return {}

    async def remove_user(self, scope: Scope, parameters: Parameters) -> Result:
        group = await self.find("group", scope, parameters["GroupName"])

        def edit(user: Identity) -> None:
            user.groups = [name for name in user.groups if name != group.name]

        await self.edit("user", scope, parameters["UserName"], edit)
        return {}

    async def list_for_user(self, scope: Scope, parameters: Parameters) -> Result:
        user = await self.find("user", scope, parameters["UserName"])
        directory = await self.directory()
        found = [directory.identity("group", scope.account, name) for name in sorted(user.groups)]
        shown = [show_identity(group) for group in found if group is not None]
        return page(shown, parameters, "Groups")

    def operations(self) -> Mapping[str, Handler]:
        return {
            "AddUserToGroup": self.add_user,
            "CreateGroup": self.create_group,
            "DeleteGroup": self.delete_group,
            "GetGroup": self.get_group,
            "ListGroups": self.list_groups,
            "ListGroupsForUser": self.list_for_user,
            "RemoveUserFromGroup": self.remove_user,
        }
