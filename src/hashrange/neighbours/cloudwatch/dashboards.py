"""The operations on dashboards, which belong to an account and to no region."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, final

import orjson

from hashrange.alarms.documents import Documents, Key, document_key, prefix_of
from hashrange.neighbours.cloudwatch.requests import moment, page
from hashrange.neighbours.service import Handler, Parameters, Result, Scope, ServiceError

_KIND: Final = "dashboard"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,255}")
_PAGE: Final = 1000
_WIDGETS_MAX: Final = 500
_TYPES: Final = ("metric", "text", "alarm", "log", "explorer", "custom")


def _key(scope: Scope, name: str) -> Key:
    return document_key(_KIND, scope.account, name)


def _arn(scope: Scope, name: str) -> str:
    return f"arn:aws:cloudwatch::{scope.account}:dashboard/{name}"


@final
class Dashboards:
    """Dashboards are kept and checked; graphs of their widgets come from GetMetricWidgetImage."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def put_dashboard(self, scope: Scope, parameters: Parameters) -> Result:
        """Create or replace a dashboard; remarks about its widgets do not keep it from that."""
        name, body = parameters["DashboardName"], parameters["DashboardBody"]
        if _NAME.fullmatch(name) is None:
            raise _invalid(
                f"The value {name} for field DashboardName contains invalid characters. It can "
                "only contain alphanumerics, dash (-) and underscore (_).",
                [],
            )
        remarks = _check(body)
        document = {"Name": name, "Body": body, "ModifiedAt": scope.clock.now()}
        await self._documents.put(_key(scope, name), document)
        return {"DashboardValidationMessages": remarks}

    async def get_dashboard(self, scope: Scope, parameters: Parameters) -> Result:
        name = parameters["DashboardName"]
        document = await self._documents.get(_key(scope, name))
        if document is None:
            raise _missing(name)
        return {
            "DashboardArn": _arn(scope, name),
            "DashboardBody": document["Body"],
            "DashboardName": name,
        }

    async def list_dashboards(self, scope: Scope, parameters: Parameters) -> Result:
        prefix = parameters.get("DashboardNamePrefix", "")
        rows = await self._documents.list(prefix_of(_KIND, scope.account))
        entries = [
            {
                "DashboardName": row["Name"],
                "DashboardArn": _arn(scope, row["Name"]),
                "LastModified": moment(row["ModifiedAt"]),
                "Size": len(row["Body"].encode()),
            }
            for _, row in rows
            if row["Name"].startswith(prefix)
        ]
        shown, token = page(entries, parameters, _PAGE)
        return {"DashboardEntries": shown, **token}

    async def delete_dashboards(self, scope: Scope, parameters: Parameters) -> Result:
        """Delete dashboards; if one is missing, none."""
        names = parameters["DashboardNames"]
        for name in names:
            if await self._documents.get(_key(scope, name)) is None:
                raise _missing(name)
        await self._documents.delete([_key(scope, name) for name in names])
        return {}

    def operations(self) -> Mapping[str, Handler]:
        return {
            "DeleteDashboards": self.delete_dashboards,
            "GetDashboard": self.get_dashboard,
            "ListDashboards": self.list_dashboards,
            "PutDashboard": self.put_dashboard,
        }


def _missing(name: str) -> ServiceError:
    return ServiceError("DashboardNotFoundError", f"Dashboard {name} does not exist", status=404)


def _invalid(message: str, remarks: list[Result]) -> ServiceError:
    members: dict[str, object] = {"dashboardValidationMessages": remarks}
    return ServiceError("DashboardInvalidInputError", message, members=members)


def _check(body: str) -> list[Result]:
    """Return remarks about a dashboard; raise what makes it unusable."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        remark = {
            "DataPath": "/",
            "Message": f"The field DashboardBody must be a valid JSON object: {error}",
        }
        raise _invalid("The field DashboardBody must be a valid JSON object", [remark]) from None
    widgets = document.get("widgets", []) if isinstance(document, dict) else None
    if not isinstance(widgets, list):
        remark = {"DataPath": "/widgets", "Message": "Should be an array"}
        raise _invalid("The dashboard body is invalid", [remark])
    errors = [error for place, widget in enumerate(widgets) for error in _errors(place, widget)]
    if len(widgets) > _WIDGETS_MAX:
        errors.append(
            {"DataPath": "/widgets", "Message": f"Should have at most {_WIDGETS_MAX} items"}
        )
    if errors:
        raise _invalid(
            f"The dashboard body is invalid, there are {len(errors)} validation errors", errors
        )
    return [
        {"DataPath": f"/widgets/{place}/properties/region", "Message": "Should have a region"}
        for place, widget in enumerate(widgets)
        if widget["type"] == "metric" and "region" not in widget["properties"]
    ]


def _errors(place: int, widget: Any) -> list[Result]:
    path = f"/widgets/{place}"
    if not isinstance(widget, dict):
        return [{"DataPath": path, "Message": "Should be an object"}]
    if widget.get("type") not in _TYPES:
        return [{"DataPath": f"{path}/type", "Message": f"Should be one of {', '.join(_TYPES)}"}]
    if not isinstance(widget.get("properties"), dict):
        return [{"DataPath": f"{path}/properties", "Message": "Should be an object"}]
    metrics = widget["properties"].get("metrics", [])
    if not isinstance(metrics, list) or not all(isinstance(m, list) and m for m in metrics):
        message = "Should be an array of arrays"
        return [{"DataPath": f"{path}/properties/metrics", "Message": message}]
    return []
