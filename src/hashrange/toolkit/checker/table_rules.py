"""Rules on tables: capacity, backup, encryption, names; and on how tables are divided."""

from __future__ import annotations

import re
from typing import Final

from hashrange.toolkit.checker.findings import Problem, Problems, Rulebook, of_table
from hashrange.toolkit.cost.traffic import peak_units
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.tables import Table

OVER_PROVISIONED: Final = 2.0
_VAGUE: Final = re.compile(
    r"^(my|the|test|new|old|tmp)?[-_.]?(table|data|items?|db|stuff)\d*$", re.I
)

book = Rulebook()


@book.rule(
    "table-per-entity",
    "error",
    standard="Table-per-entity (relational thinking)",
    why="DynamoDB has no joins: related entities in separate tables need a request each.",
    mend='Put entities that are read together in one table, or declare style = "multi_table".',
)
def per_entity(design: Design) -> Problems:
    """Each entity has a table of its own, although no style was declared."""
    counts = [len(design.entities_of(table.name)) for table in design.tables]
    if design.style == "" and len(design.tables) > 1 and all(count == 1 for count in counts):
        yield Problem("", f"{len(counts)} entities in {len(counts)} tables")


@book.rule(
    "table-style-mixed",
    "error",
    standard="Follow the project’s chosen approach (single-table or multi-table); do not mix "
    "patterns without intent.",
    why="Readers who know one half of a mixed design expect the wrong thing of the other.",
    mend="Follow the declared style, or waive the rule for the exception with a reason.",
)
def style_mixed(design: Design) -> Problems:
    """The tables do not follow the declared style."""
    counts = {table: len(design.entities_of(table.name)) for table in design.tables}
    if design.style == "single_table":
        for table, count in counts.items():
            if len(counts) > 1 and count == 1:
                yield Problem(of_table(table), "it has one entity in a single-table design")
    elif design.style == "multi_table":
        for table in counts:
            # Entities of one item collection belong together, such as an order and its lines.
            collections = {
                entity.required_template(table.partition.name).prefix
                for entity in design.entities_of(table.name)
            }
            if len(collections) > 1:
                known = ", ".join(sorted(collections))
                yield Problem(of_table(table), f"it has unrelated collections: {known}")
    elif len(counts) > 1 and max(counts.values()) > 1 and min(counts.values()) == 1:
        yield Problem("", "some tables have one entity, others several; declare style", "warning")


@book.rule(
    "capacity-fixed",
    "error",
    standard="Read and write capacity MUST be explicitly configured or auto-scaled with "
    "safeguards.",
    why="Fixed capacity throttles above it and is wasted below it.",
    mend='Add auto_scaling with bounds, or use mode = "on_demand".',
)
def fixed(design: Design) -> Problems:
    """Provisioned capacity has no automatic scaling."""
    for table in design.tables:
        if table.capacity.mode == "provisioned" and table.capacity.auto_scaling is None:
            yield Problem(of_table(table), "provisioned capacity without auto_scaling")


@book.rule(
    "capacity-bounds",
    "error",
    standard="Capacity MUST be monitored and tuned.",
    why="Scaling with bounds that contradict each other, or a target of 100 %, does nothing.",
    mend="minimum_units ≤ maximum_units, and a target between 20 and 90 percent.",
)
def bounds(design: Design) -> Problems:
    """The bounds of automatic scaling make no sense."""
    for table in design.tables:
        scaling = table.capacity.auto_scaling
        if scaling is None:
            continue
        if not 1 <= scaling.minimum_units <= scaling.maximum_units:
            yield Problem(
                of_table(table),
                f"units from {scaling.minimum_units} to {scaling.maximum_units} are no range",
            )
        if not 20 <= scaling.target_percent <= 90:
            yield Problem(of_table(table), f"target_percent is {scaling.target_percent}")


@book.rule(
    "capacity-short",
    "error",
    standard="ProvisionedThroughputExceeded: Switch to on-demand or increase capacity",
    why="At the declared peak, requests are throttled.",
    mend="Raise the capacity or the upper bound of scaling, or use on-demand.",
)
def short(design: Design) -> Problems:
    """The declared peak exceeds the provisioned capacity."""
    for table, kind, provisioned, peak in _provisioned(design):
        if peak > provisioned:
            yield Problem(
                of_table(table),
                f"the peak needs {peak:,.0f} {kind} units per second, {provisioned:,} are provided",
            )


@book.rule(
    "capacity-over",
    "warning",
    standard="Over-provisioning: Paying for unused capacity",
    why="Provisioned capacity is paid whether it is used or not.",
    mend="Lower the capacity, let it scale, or use on-demand: hashrange design cost compares them.",
)
def over(design: Design) -> Problems:
    """The provisioned capacity is far above the declared peak."""
    for table, kind, provisioned, peak in _provisioned(design):
        if peak > 0 and provisioned > 5 and provisioned > OVER_PROVISIONED * peak:
            yield Problem(
                of_table(table),
                f"{provisioned:,} {kind} units are provided, the peak needs {peak:,.1f}",
            )


def _provisioned(design: Design) -> list[tuple[Table, str, int, float]]:
    peaks = peak_units(design)
    found = []
    for table in design.tables:
        capacity = table.capacity
        if capacity.mode != "provisioned":
            continue
        peak = peaks[table.name]
        scaling = capacity.auto_scaling
        for kind, units, need in (
            ("read", capacity.read_units, peak.read),
            ("write", capacity.write_units, peak.write),
        ):
            found.append((table, kind, scaling.maximum_units if scaling else units, need))
    return found


@book.rule(
    "capacity-provisioned",
    "note",
    standard="Do not use provisioned capacity mode unless explicitly required",
    why="On-demand needs no planning; provisioned capacity pays off for steady, known traffic.",
    mend="Use on-demand, or waive the rule with the comparison of hashrange design cost.",
)
def provisioned(design: Design) -> Problems:
    """A table uses provisioned capacity."""
    for table in design.tables:
        if table.capacity.mode == "provisioned":
            yield Problem(of_table(table), "capacity mode is provisioned")


@book.rule(
    "backup-missing",
    "error",
    standard="Enable point-in-time recovery (PITR) for critical tables.",
    why="Without it, a bad deployment or a wrong delete cannot be undone.",
    mend="Set point_in_time_recovery = true.",
)
def backup_missing(design: Design) -> Problems:
    """A critical table has no point-in-time recovery."""
    for table in design.tables:
        if table.point_in_time_recovery:
            continue
        if table.critical:
            yield Problem(of_table(table), "the table is critical")
        elif table.environment.startswith("prod"):
            yield Problem(of_table(table), "the table is in production", "warning")


@book.rule(
    "deletion-unprotected",
    "warning",
    standard="Treat table/index changes as operational events with rollback planning.",
    why="One DeleteTable call removes the table at once.",
    mend="Set deletion_protection = true.",
)
def deletion_unprotected(design: Design) -> Problems:
    """A critical table can be deleted by one call."""
    for table in design.tables:
        if table.critical and not table.deletion_protection:
            yield Problem(of_table(table), "deletion_protection is off")


@book.rule(
    "encryption-owned-key",
    "warning",
    standard="Encryption at rest MUST be enabled.",
    why="DynamoDB always encrypts at rest, but with the key that AWS owns, use of the key is "
    "neither logged nor under the account's control.",
    mend='Set encryption = "customer" or "managed".',
)
def owned_key(design: Design) -> Problems:
    """A critical table is encrypted with the key that AWS owns."""
    for table in design.tables:
        if table.critical and table.encryption == "owned":
            yield Problem(of_table(table), "encryption is left to the key that AWS owns")


@book.rule(
    "table-name-vague",
    "warning",
    standard="Table names MUST reflect purpose and environment.",
    why="Names are all that consoles, bills, policies and alarms show.",
    mend="Name the table after its domain, and state its environment.",
)
def name_vague(design: Design) -> Problems:
    """The name of a table says nothing about its purpose."""
    for table in design.tables:
        if _VAGUE.match(table.name):
            yield Problem(of_table(table), f"the name {table.name} says nothing")


@book.rule(
    "table-environment-missing",
    "note",
    standard="Table names MUST reflect purpose and environment.",
    why="A table whose stage is unknown is changed or deleted by mistake.",
    mend="Set environment, or a tag Environment.",
)
def environment_missing(design: Design) -> Problems:
    """A table does not say which environment it belongs to."""
    for table in design.tables:
        tags = {name.lower() for name in table.tags}
        if not table.environment and not tags & {"environment", "env", "stage"}:
            yield Problem(of_table(table), "environment is empty")


@book.rule(
    "table-analytical",
    "warning",
    standard="DynamoDB MUST be used for high-scale, low-latency key-value and document access "
    "patterns.",
    why="A table that is only scanned pays for keys and latency that nobody uses.",
    mend="Export the data and analyse it elsewhere, or declare the reads by key.",
)
def analytical(design: Design) -> Problems:
    """All reads of a table are scans."""
    for table in design.tables:
        reads = [pattern for pattern in design.patterns_of(table.name) if pattern.is_read]
        if reads and all(pattern.operation == "scan" for pattern in reads):
            yield Problem(of_table(table), "all its reads are scans")


@book.rule(
    "table-no-sort-key",
    "note",
    standard="Tables: MUST define partition and sort keys.",
    why="A sort key cannot be added later; without one, related items need a table of their own.",
    mend="Define a sort key, with a constant value if there is nothing to sort yet.",
)
def no_sort_key(design: Design) -> Problems:
    """A table has no sort key."""
    for table in design.tables:
        if table.sort is None:
            yield Problem(of_table(table), "it has no sort key")


@book.rule(
    "table-undescribed",
    "note",
    standard="Primary keys MUST be explicitly designed and documented.",
    why="The next reader has to guess what the keys of the table mean.",
    mend="Add a description of the table.",
)
def undescribed(design: Design) -> Problems:
    """A table has no description."""
    for table in design.tables:
        if not table.description:
            yield Problem(of_table(table), "it has no description")
