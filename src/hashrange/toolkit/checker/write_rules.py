"""Rules on writes: conditions guard shared state, transactions are needed and small."""

from __future__ import annotations

import re
from typing import Final

from hashrange.toolkit.checker.expressions import subtracted_by
from hashrange.toolkit.checker.findings import Problem, Problems, Rulebook, of_entity, of_pattern
from hashrange.toolkit.design.model import Design
from hashrange.toolkit.design.patterns import Step

TRANSACTION_STEPS_MAX: Final = 100
_COUNTER: Final = re.compile(r"^\s*ADD\b", re.IGNORECASE)

book = Rulebook()


@book.rule(
    "write-unconditional",
    "error",
    standard="Conditional writes MUST protect shared state.",
    why="Two writers at the same time make a balance or a stock negative, or lose a change.",
    mend="Add a condition (stock >= :n), or a version attribute to the entity.",
)
def unconditional(design: Design) -> Problems:
    """A write subtracts or overwrites without a condition."""
    for pattern in design.patterns:
        steps = pattern.steps or (
            Step(
                "update" if pattern.operation == "update" else "put",
                (*pattern.entities, "")[0],
                pattern.update,
                pattern.condition,
            ),
        )
        if pattern.operation not in ("put", "update", "transact_write"):
            continue
        for step in steps:
            entity = design.entity(step.entity)
            if step.condition or entity.version:
                continue
            reduced = subtracted_by(step.update)
            if reduced:
                yield Problem(
                    of_pattern(pattern), f"it makes {reduced[0]} smaller without a condition"
                )
            elif step.action == "put" and not pattern.steps and not entity.ephemeral:
                yield Problem(
                    of_pattern(pattern),
                    f"it overwrites {entity.name} whatever is stored there",
                    "warning",
                )


@book.rule(
    "write-unique-unprotected",
    "warning",
    standard="Use conditional expressions to enforce uniqueness and state transitions.",
    why="An index does not enforce uniqueness: two items with the same value can exist.",
    mend="Add the attribute to unique of the entity.",
)
def unique_unprotected(design: Design) -> Problems:
    """A lookup expects one item for a value that nothing keeps unique."""
    for pattern in design.patterns:
        if pattern.operation != "query" or not pattern.single or not pattern.index:
            continue
        table = design.table(pattern.table)
        index = table.index(pattern.index)
        for name in pattern.entities:
            entity = design.entity(name)
            template = entity.template(index.partition.name)
            primary = {
                field
                for key in table.key_attributes
                for field in entity.required_template(key.name).fields
            }
            fields = template.fields if template else ()
            if len(fields) != 1 or fields[0] in (*primary, *entity.unique):
                continue
            attribute = entity.attribute(fields[0])
            if attribute is not None and attribute.format not in ("uuid", "ulid"):
                yield Problem(of_entity(entity), f"{pattern.name} expects {fields[0]} to be unique")


@book.rule(
    "transaction-one-item",
    "error",
    standard="Prefer single-item atomic operations when possible.",
    why="A write of one item is atomic by itself; as a transaction it costs twice as much.",
    mend="Use update, create, put or delete with a condition.",
)
def one_item(design: Design) -> Problems:
    """A transaction has one step."""
    for pattern in design.patterns:
        if len(pattern.steps) == 1 and not pattern.steps[0].each:
            yield Problem(of_pattern(pattern), "its only step is atomic without a transaction")


@book.rule(
    "transaction-unreasoned",
    "warning",
    standard="Transactions MUST be used sparingly and only when required.",
    why="Transactions double the units, conflict with each other and fail as a whole.",
    mend="Say in transaction_reason which invariant spans the items.",
)
def unreasoned(design: Design) -> Problems:
    """A transaction does not say why it is needed."""
    for pattern in design.patterns:
        if len(pattern.steps) > 1 and not pattern.transaction_reason:
            yield Problem(of_pattern(pattern), "transaction_reason is empty")


@book.rule(
    "transaction-too-large",
    "error",
    standard="Ignoring Limits: Hitting throughput or size limits",
    why="A transaction has 100 actions at most.",
    mend="Split the transaction, or process the rest from the stream.",
)
def too_large(design: Design) -> Problems:
    """A transaction has more steps than DynamoDB allows."""
    for pattern in design.patterns:
        if len(pattern.steps) > TRANSACTION_STEPS_MAX:
            yield Problem(
                of_pattern(pattern), f"it has {len(pattern.steps)} steps, 100 are allowed"
            )


@book.rule(
    "transaction-derived-data",
    "warning",
    standard="Synchronous Processing: Not using streams for async work",
    why="A counter inside a transaction makes every writer wait for, and conflict on, one item.",
    mend="Enable a stream and keep the counter from there; or say in transaction_reason why it "
    "must be exact at once.",
)
def derived_data(design: Design) -> Problems:
    """A transaction keeps a counter that a stream could keep."""
    for pattern in design.patterns:
        if pattern.transaction_reason or len(pattern.steps) < 2:
            continue
        for step in pattern.steps:
            if step.action == "update" and _COUNTER.match(step.update) and not step.condition:
                yield Problem(of_pattern(pattern), f"it updates a counter of {step.entity}")
