"""KMS operations on the rotation of keys. What was encrypted before a rotation still opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hashrange.keyring.ciphertexts import make_material
from hashrange.keyring.records import Key
from hashrange.neighbours.kms.answers import (
    Edit,
    KeyOperations,
    check_own,
    check_usable,
    moment,
    page,
)
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_DAYS_DEFAULT: Final = 365
_ON_DEMAND_MAX: Final = 25


class Rotation(KeyOperations):
    """Operations on rotation."""

    async def enable(self, scope: Scope, parameters: Parameters) -> Result:
        days, now = parameters.get("RotationPeriodInDays") or _DAYS_DEFAULT, scope.clock.now()

        def edit(key: Key) -> None:
            check_usable(key)
            key.rotation_days = days
            key.rotation_from = now

        return await self._change(scope, parameters, edit)

    async def disable(self, scope: Scope, parameters: Parameters) -> Result:
        def edit(key: Key) -> None:
            check_usable(key)
            key.rotation_days = 0

        return await self._change(scope, parameters, edit)

    async def describe(self, scope: Scope, parameters: Parameters) -> Result:
        key = await self.find_by_id(scope, parameters["KeyId"])
        shown: Result = {"KeyRotationEnabled": bool(key.rotation_days), "KeyId": key.id}
        if key.rotation_days:
            shown["RotationPeriodInDays"] = key.rotation_days
            shown["NextRotationDate"] = moment(key.next_rotation())
        return shown

    async def rotate(self, scope: Scope, parameters: Parameters) -> Result:
        key = await self._find(scope, parameters)
        made = make_material(self.store.vault, key.id, scope.clock.now(), is_on_demand=True)

        def edit(found: Key) -> None:
            check_usable(found)
            if sum(material.is_on_demand for material in found.materials) >= _ON_DEMAND_MAX:
                raise ServiceError(
                    "LimitExceededException",
                    f"A key can be rotated {_ON_DEMAND_MAX} times on demand.",
                )
            found.materials.append(made)

        await self.edit(key, edit)
        return {"KeyId": key.id}

    async def list_rotations(self, scope: Scope, parameters: Parameters) -> Result:
        key = await self.find_by_id(scope, parameters["KeyId"])
        shown = [
            {
                "KeyId": key.id,
                "RotationDate": moment(made.created_at),
                "RotationType": "ON_DEMAND" if made.is_on_demand else "AUTOMATIC",
            }
            for made in key.materials[1:]
        ]
        return page(shown, parameters, "Rotations")

    async def _find(self, scope: Scope, parameters: Parameters) -> Key:
        key = await self.find_by_id(scope, parameters["KeyId"])
        check_own(key)
        return key

    async def _change(self, scope: Scope, parameters: Parameters, edit: Edit) -> Result:
        await self.edit(await self._find(scope, parameters), edit)
        return {}

    def operations(self) -> Mapping[str, Handler]:
        return {
            "DisableKeyRotation": self.disable,
            "EnableKeyRotation": self.enable,
            "GetKeyRotationStatus": self.describe,
            "ListKeyRotations": self.list_rotations,
            "RotateKeyOnDemand": self.rotate,
        }
