"""A multi-tenant service: every key begins with the tenant, so that a policy can keep them apart.

Users sign in with an email that is unique over all tenants. Tasks are found by project and,
through an index, by assignee. Usage is counted per month, in counters that an update creates; the
audit log is kept by day and expires. Models are Pydantic models.
"""

from datetime import datetime

import pydantic

from hashrange.toolkit import Attribute, Entity, Index, Rate, Table, Volume, begins_with, between
from hashrange.toolkit.declarations import (
    DesignBase,
    create,
    get,
    put,
    query,
    select,
    update,
)


class Tenant(pydantic.BaseModel):
    """A customer of the service."""

    tenant_id: str
    name: str
    plan: str = "free"


class User(pydantic.BaseModel):
    """Somebody of a tenant."""

    tenant_id: str
    user_id: str
    email: str
    role: str = "member"
    version: int = 0


class Task(pydantic.BaseModel):
    """Something to do in a project."""

    tenant_id: str
    project: str
    task_id: str
    title: str
    due: datetime
    assignee: str | None = None
    version: int = 0


class Usage(pydantic.BaseModel):
    """How much a tenant used in a month."""

    tenant_id: str
    month: str
    requests: int = 0
    bytes_stored: int = 0


class AuditEvent(pydantic.BaseModel):
    """Who did what."""

    tenant_id: str
    at: datetime
    user_id: str
    action: str


class Service(DesignBase, name="saas", style="single_table"):
    """Tenants, their users, tasks, usage and audit log."""

    table = Table(
        "Service",
        "PK",
        "SK",
        ttl="expires_at",
        indexes=(
            Index(
                "ByAssignee",
                "assignee_key",
                "due",
                projection="INCLUDE",
                include=("title", "project", "task_id"),
                sparse=True,
                serves=("tasks_of_user",),
                reason="everybody's first page",
            ),
        ),
        critical=True,
        point_in_time_recovery=True,
        encryption="customer",
        deletion_protection=True,
    )
    tenants = Entity(
        "tenant",
        {"PK": "TENANT#{tenant_id}", "SK": "TENANT"},
        Tenant,
        volume=Volume(items=5_000, item_bytes=300),
    )
    users = Entity(
        "user",
        {"PK": "TENANT#{tenant_id}", "SK": "USER#{user_id}"},
        User,
        unique=("email",),
        version="version",
        attributes=(Attribute("email", format="email", sensitive=True),),
        volume=Volume(items=100_000, item_bytes=250, collection_items=20),
    )
    tasks = Entity(
        "task",
        {
            "PK": "TENANT#{tenant_id}#PROJECT#{project}",
            "SK": "TASK#{task_id}",
            "assignee_key": "TENANT#{tenant_id}#USER#{assignee}",
        },
        Task,
        version="version",
        volume=Volume(items=10_000_000, item_bytes=400, collection_items=200),
    )
    usage = Entity(
        "usage",
        {"PK": "TENANT#{tenant_id}", "SK": "USAGE#{month}"},
        Usage,
        volume=Volume(items=100_000, item_bytes=120, collection_items=12),
    )
    audit = Entity(
        "audit",
        {"PK": "TENANT#{tenant_id}#AUDIT#{at:%Y-%m-%d}", "SK": "{at}#{user_id}"},
        AuditEvent,
        ephemeral=True,
        expires_after=365 * 24 * 3600,
        volume=Volume(items=300_000_000, item_bytes=200, collection_items=1000),
    )

    @create(tenants, rate=Rate(0.01))
    def sign_up(self, tenant: Tenant) -> None:
        """A new tenant."""

    @get(tenants, rate=Rate(100))
    def tenant(self, tenant_id: str) -> None:
        """A tenant."""

    @create(users, rate=Rate(0.1))
    def invite(self, user: User) -> None:
        """A new user, whose email no user of any tenant has."""

    @put(users, rate=Rate(0.1))
    def save_user(self, user: User) -> None:
        """Change a user, unless somebody else did."""

    @query(users, sort_key=begins_with("USER#"), rate=Rate(5))
    def users_of_tenant(self, tenant_id: str) -> None:
        """The users of a tenant."""

    @create(tasks, rate=Rate(10))
    def add_task(self, task: Task) -> None:
        """A new task."""

    @query(tasks, sort_key=begins_with("TASK#"), rate=Rate(20))
    def tasks_of_project(self, tenant_id: str, project: str, limit: int | None = None) -> None:
        """The tasks of a project."""

    @select(tasks, index="ByAssignee", rate=Rate(50))
    def tasks_of_user(self, tenant_id: str, assignee: str, limit: int | None = None) -> None:
        """What somebody has to do, by date."""

    @update(tasks, "SET assignee = :assignee", rate=Rate(5))
    def assign(
        self, tenant_id: str, project: str, task_id: str, assignee: str, version: int | None = None
    ) -> None:
        """Give a task to somebody; it moves in the index."""

    @update(tasks, "REMOVE assignee", rate=Rate(1))
    def unassign(self, tenant_id: str, project: str, task_id: str) -> None:
        """Take a task from everybody; it leaves the index."""

    @update(usage, "ADD requests :requests, bytes_stored :bytes", upsert=True, rate=Rate(200))
    def count_usage(self, tenant_id: str, month: str, requests: int, bytes: int) -> None:
        """Add to the usage of a month."""

    @query(usage, sort_key=begins_with("USAGE#{year}"), rate=Rate(0.1))
    def usage_of_year(self, tenant_id: str, year: str) -> None:
        """The usage of a tenant, month by month."""

    @put(audit, rate=Rate(100))
    def log(self, event: AuditEvent) -> None:
        """Note what somebody did."""

    @query(audit, sort_key=between("{at_from}", "{at_to}~"), newest_first=True, rate=Rate(0.1))
    def audit_log(
        self, tenant_id: str, at: tuple[datetime, datetime], limit: int | None = None
    ) -> None:
        """What was done between two moments, newest first."""
