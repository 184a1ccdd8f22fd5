"""botocore's service models: loaded when a service is first called, one at a time, then kept.

Importing botocore takes longer and needs more memory than the rest of a server, so nothing here
imports it before the first `load`. Loading takes tens of milliseconds: `ServiceModels.ready` does
it in a thread. The documentation in the models is dropped, as it is most of their size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Protocol, final


class Shape(Protocol):
    """A shape as botocore presents it: the parts that codecs read.

    `members` is of structures only, `member` of lists, `key` and `value` of maps.
    """

    name: str
    type_name: str
    serialization: Mapping[str, Any]
    metadata: Mapping[str, Any]
    members: Mapping[str, Shape]
    member: Shape
    key: Shape
    value: Shape


class OperationModel(Protocol):
    """An operation as botocore presents it."""

    name: str
    http: Mapping[str, Any]
    input_shape: Shape | None
    output_shape: Shape | None
    auth_type: str | None
    deprecated: bool
    has_event_stream_input: bool
    has_event_stream_output: bool


@final
class ServiceModel:
    """The model of one service, with what codecs and routes ask of it."""

    def __init__(self, model: Any, faults: frozenset[str]) -> None:
        self._model = model
        # The errors that are the server's fault, which botocore's shapes do not tell.
        self.faults = faults
        metadata = model.metadata
        self.protocols: Sequence[str] = metadata.get("protocols") or [metadata["protocol"]]
        self.service_id: str = metadata["serviceId"]
        self.api_version: str = metadata["apiVersion"]
        self.json_version: str = metadata.get("jsonVersion", "1.0")
        self.target_prefix: str = metadata.get("targetPrefix", "")
        self.signing_name: str = model.signing_name
        self.namespace: str = metadata.get("xmlNamespace", "")
        self.is_query_compatible = "awsQueryCompatible" in metadata
        self.operation_names = frozenset[str](model.operation_names)
        self._errors: dict[str, Shape] | None = None

    def operation(self, name: str) -> OperationModel:
        """Return the model of an operation, whose shapes are resolved as they are used."""
        operation: OperationModel = self._model.operation_model(name)
        return operation

    def error_shape(self, code: str) -> Shape | None:
        """Return the shape of an error by its name or by the code that query clients see."""
        if self._errors is None:
            errors: dict[str, Shape] = {}
            for shape in self._model.error_shapes:
                errors.setdefault(shape.metadata.get("error", {}).get("code", shape.name), shape)
            # A name is certain; two errors may share a code.
            errors.update((shape.name, shape) for shape in self._model.error_shapes)
            self._errors = errors
        return self._errors.get(code)


@final
class ServiceModels:
    """The models that were asked for so far; may be used by several threads."""

    def __init__(self) -> None:
        self._models: dict[str, ServiceModel] = {}
        self._lock = Lock()

    async def ready(self, name: str, api_version: str) -> ServiceModel:
        """Return a model without holding up the event loop."""
        model = self._models.get(name)
        if model is None:
            loop = asyncio.get_running_loop()
            model = await loop.run_in_executor(None, self.load, name, api_version)
        return model

    def load(self, name: str, api_version: str) -> ServiceModel:
        """Return a model, reading it if need be."""
        with self._lock:
            model = self._models.get(name)
            if model is None:
                model = self._models[name] = _read_model(name, api_version)
            return model


def _read_model(name: str, api_version: str) -> ServiceModel:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel as BotocoreModel

    # The version is named, as looking for the newest one reads every directory of botocore's data.
    description = Loader().load_data(f"{name}/{api_version}/service-2")
    _drop_documentation(description)
    faults = frozenset(key for key, shape in description["shapes"].items() if shape.get("fault"))
    return ServiceModel(BotocoreModel(description, name), faults)


def _drop_documentation(description: dict[str, Any]) -> None:
    description.pop("documentation", None)
    for part in (*description["operations"].values(), *description["shapes"].values()):
        part.pop("documentation", None)
    for shape in description["shapes"].values():
        for member in shape.get("members", {}).values():
            member.pop("documentation", None)
