"""Rules on items: sizes, growth, expiry, names, types, secrets."""

from __future__ import annotations

import re
from typing import Any, Final

from hashrange.toolkit.checker.expressions import names_in
from hashrange.toolkit.checker.findings import (
    Problem,
    Problems,
    Rulebook,
    of_attribute,
    of_entity,
    of_pattern,
    of_table,
)
from hashrange.toolkit.design.entities import Entity
from hashrange.toolkit.design.model import Design

ITEM_BYTES_MAX: Final = 400 * 1024
ITEM_BYTES_NEAR: Final = 300 * 1024
ITEM_BYTES_ADVISED: Final = 64 * 1024
VALUE_BYTES_ADVISED: Final = 100 * 1024
COLLECTION_BYTES_MAX: Final = 10 * 1024**3

_EPHEMERAL: Final = re.compile(
    r"(^|_)(session|token|invitation|invite|otp|captcha|cache|temp|temporary|lock|lease|nonce)s?(_|$)"
)
_SECRET: Final = re.compile(
    r"(^|_)(password|passwd|secret|api_?key|private_?key|access_?key|credential|pin|cvv|ssn|"
    r"card_?number|iban)s?(_|$)"
)
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_TIME_FORMATS: Final = frozenset({"timestamp", "date", "epoch_seconds", "epoch_milliseconds"})

book = Rulebook()


def snake(name: str) -> str:
    """Return a name in snake case, so that userId and user_id look alike."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@book.rule(
    "item-too-large",
    "error",
    standard="Large Items: Items exceeding 400KB",
    why="DynamoDB refuses items beyond 400 KB; close to it, one more attribute breaks the writes.",
    mend="Split the item, keep large values in S3 (offloaded), or compress them.",
)
def too_large(design: Design) -> Problems:
    """The largest items come near the limit of 400 KB."""
    for entity in design.entities:
        volume = entity.volume
        largest = max(volume.item_bytes_max or 0, volume.item_bytes or 0)
        if largest > ITEM_BYTES_MAX:
            yield Problem(of_entity(entity), f"an item may have {largest:,} bytes, beyond 400 KB")
        elif largest >= ITEM_BYTES_NEAR:
            yield Problem(of_entity(entity), f"an item may have {largest:,} bytes, near 400 KB")


@book.rule(
    "item-not-small",
    "warning",
    standard="Items MUST be kept small to reduce cost and latency.",
    why="Reads are billed per 4 KB and writes per 1 KB of the whole item, even for one attribute.",
    mend="Keep what is read together in one item, and the rest in items of its own.",
)
def not_small(design: Design) -> Problems:
    """The average item is large."""
    for entity in design.entities:
        size = entity.volume.item_bytes or 0
        if ITEM_BYTES_ADVISED <= size < ITEM_BYTES_NEAR:
            yield Problem(of_entity(entity), f"the average item has {size:,} bytes")


@book.rule(
    "attribute-unbounded",
    "error",
    standard="Avoid unbounded lists/maps that grow indefinitely.",
    why="Every append rewrites and bills the whole item, until it reaches 400 KB and writes fail.",
    mend="Store an item per element under the same partition key.",
)
def unbounded(design: Design) -> Problems:
    """An attribute grows without end."""
    for entity in design.entities:
        for attribute in entity.attributes:
            if attribute.growth == "unbounded" and not attribute.offloaded:
                yield Problem(of_attribute(entity, attribute), f"{attribute.name} has no bound")


@book.rule(
    "attribute-large-value",
    "error",
    standard="Do not store large binary data directly in DynamoDB (use S3 instead)",
    why="Large values make every read and write of the item expensive.",
    mend="Set offloaded, which keeps the value in S3 and a reference in the item.",
)
def large_value(design: Design) -> Problems:
    """A large value is stored in the item itself."""
    for entity in design.entities:
        for attribute in entity.attributes:
            size = attribute.bytes_max or 0
            if size > VALUE_BYTES_ADVISED and not attribute.offloaded:
                yield Problem(of_attribute(entity, attribute), f"it may have {size:,} bytes")


@book.rule(
    "collection-limit",
    "error",
    standard="Ignoring Limits: Hitting throughput or size limits",
    why="With a local index, the items of one partition key value may have 10 GB at most; then "
    "writes are refused.",
    mend="Use a global index instead, or add a time bucket to the partition key.",
)
def collection_limit(design: Design) -> Problems:
    """An item collection with a local index can reach 10 GB."""
    for entity in design.entities:
        table = design.table(entity.table)
        if not any(index.kind == "local" for index in table.indexes):
            continue
        template = entity.required_template(table.partition.name)
        volume = entity.volume
        size = (volume.collection_items_max or 0) * (volume.item_bytes or 0)
        if volume.growth == "unbounded" and not template.bucket:
            yield Problem(of_entity(entity), "its collection grows without end under a local index")
        elif size > COLLECTION_BYTES_MAX * 0.8:
            yield Problem(of_entity(entity), f"its largest collection has {size / 1024**3:,.1f} GB")


@book.rule(
    "collection-unbounded",
    "warning",
    standard="Prefer time-bucket or item-per-event patterns for append-heavy data.",
    why="A partition key value that collects items for ever becomes large, hot and hard to expire.",
    mend="Add a time bucket to the partition key, or let old items expire.",
)
def collection_unbounded(design: Design) -> Problems:
    """An item collection grows without end and nothing expires."""
    for entity in design.entities:
        template = entity.required_template(design.table(entity.table).partition.name)
        expires = entity.expires_after is not None
        if entity.volume.growth == "unbounded" and not template.bucket and not expires:
            yield Problem(of_entity(entity), f"the items under {template.text!r} have no end")


@book.rule(
    "ttl-missing",
    "error",
    standard="No TTL on ephemeral data",
    why="Data that has lost its meaning is stored, indexed and read for ever.",
    mend="Set ttl on the table and expires_after on the entity.",
)
def ttl_missing(design: Design) -> Problems:
    """An ephemeral entity does not expire."""
    for entity in design.entities:
        table = design.table(entity.table)
        if not entity.ephemeral:
            continue
        fills = entity.expires_after is not None or entity.attribute(table.ttl) is not None
        if not table.ttl:
            yield Problem(of_entity(entity), f"table {table.name} has no ttl attribute")
        elif not fills:
            yield Problem(of_entity(entity), f"nothing fills the ttl attribute {table.ttl}")


@book.rule(
    "ttl-undeclared",
    "warning",
    standard="Time-to-live MUST be used for ephemeral data where applicable.",
    why="Sessions, tokens and invitations are rarely meant to be kept for ever.",
    mend="Set ephemeral and expires_after, or waive the rule with the reason to keep them.",
)
def ttl_undeclared(design: Design) -> Problems:
    """The name of an entity suggests ephemeral data, but it does not expire."""
    for entity in design.entities:
        if entity.ephemeral or entity.expires_after is not None:
            continue
        if _EPHEMERAL.search(snake(entity.name)):
            yield Problem(of_entity(entity), f"{entity.name} sounds ephemeral, but never expires")


@book.rule(
    "ttl-unused",
    "warning",
    standard="TTL configuration: MUST define expiration behavior.",
    why="A TTL attribute that nothing fills deletes nothing.",
    mend="Set expires_after on the entities that expire, or remove ttl from the table.",
)
def ttl_unused(design: Design) -> Problems:
    """A table has a TTL attribute that no entity fills."""
    for table in design.tables:
        entities = design.entities_of(table.name)
        if table.ttl and not any(
            each.expires_after is not None or each.attribute(table.ttl) for each in entities
        ):
            yield Problem(of_table(table), f"no entity fills {table.ttl}")


@book.rule(
    "ttl-type",
    "error",
    standard="TTL attribute must be a Number (Unix timestamp in seconds)",
    why="DynamoDB ignores a TTL attribute of another type; milliseconds lie thousands of years "
    "ahead.",
    mend="Use an attribute of type N with format epoch_seconds.",
)
def ttl_type(design: Design) -> Problems:
    """The TTL attribute is no number of seconds."""
    for entity in design.entities:
        attribute = entity.attribute(design.table(entity.table).ttl)
        if attribute is None:
            continue
        if attribute.type != "N":
            yield Problem(of_attribute(entity, attribute), f"it has type {attribute.type}, not N")
        elif attribute.format not in ("", "epoch_seconds"):
            yield Problem(of_attribute(entity, attribute), f"its format is {attribute.format}")


@book.rule(
    "ttl-expired-read",
    "note",
    standard="Design access patterns so expired items don’t impact hot queries.",
    why="DynamoDB deletes expired items within days, not at once; until then queries return them.",
    mend="Filter by the ttl attribute, or put the expiry time into the sort key.",
)
def ttl_expired_read(design: Design) -> Problems:
    """A query can return items that have expired."""
    for pattern in design.patterns:
        if pattern.operation not in ("query", "scan") or not pattern.production:
            continue
        ttl = design.table(pattern.table).ttl
        expiring = [n for n in pattern.entities if design.entity(n).expires_after is not None]
        if expiring and ttl not in names_in(pattern.filter):
            yield Problem(
                of_pattern(pattern),
                f"it may return expired {expiring[0]} items: no filter on {ttl}",
            )


@book.rule(
    "time-format-mixed",
    "warning",
    standard="Store timestamps in a consistent format (typically epoch seconds or ISO UTC).",
    why="Times in two formats can be compared and sorted only by mistake.",
    mend="Use one format for all times; the ttl attribute alone must be epoch seconds.",
)
def time_format_mixed(design: Design) -> Problems:
    """Times are stored in more than one format."""
    used: dict[str, str] = {}
    for entity in design.entities:
        for attribute in entity.attributes:
            is_ttl = attribute.name == design.table(entity.table).ttl
            if attribute.format in _TIME_FORMATS - {"date"} and not is_ttl:
                used.setdefault(attribute.format, f"{entity.name}.{attribute.name}")
    if len(used) > 1:
        yield Problem("", "; ".join(f"{where} is {kind}" for kind, where in used.items()))


@book.rule(
    "attribute-naming",
    "warning",
    standard="Items: MUST use consistent attribute naming.",
    why="Two conventions in one design lead to attributes that are written under one name and read "
    "under another.",
    mend="Choose snake_case or camelCase for all attributes.",
)
def naming(design: Design) -> Problems:
    """Attribute names mix conventions."""
    names = {each.name for entity in design.entities for each in entity.attributes}
    camel = sorted(name for name in names if _CAMEL.search(name))
    underscored = sorted(name for name in names if "_" in name and name == name.lower())
    if camel and underscored:
        yield Problem("", f"{camel[0]} is in camelCase, {underscored[0]} in snake_case")


@book.rule(
    "attribute-type-varies",
    "error",
    standard="Ensure indexed attributes have stable, consistent types.",
    why="An attribute with two types in one table compares and indexes differently by item.",
    mend="Use one type, or two names.",
)
def type_varies(design: Design) -> Problems:
    """An attribute of a table has different types in different entities."""
    for table in design.tables:
        seen: dict[str, tuple[str, Entity[Any]]] = {}
        for entity in design.entities_of(table.name):
            for attribute in entity.attributes:
                kind, other = seen.setdefault(attribute.name, (attribute.type, entity))
                if attribute.type not in (kind, "ANY") and kind != "ANY":
                    yield Problem(
                        of_attribute(entity, attribute),
                        f"its type is {attribute.type} here and {kind} in {other.name}",
                    )


@book.rule(
    "secret-plaintext",
    "error",
    standard="Avoid storing secrets in plaintext.",
    why="Everybody who may read the table, its stream or its backups reads the secret.",
    mend="Set encrypted (client-side encryption), store a hash, or keep it in a secrets store.",
)
def secret_plaintext(design: Design) -> Problems:
    """An attribute looks like a secret and is stored in plaintext."""
    for entity in design.entities:
        for attribute in entity.attributes:
            name = snake(attribute.name)
            hashed = name.endswith(("_hash", "_digest", "_arn", "_ref"))
            if _SECRET.search(name) and not attribute.encrypted and not hashed:
                yield Problem(of_attribute(entity, attribute), f"{attribute.name} is not encrypted")


@book.rule(
    "sensitive-unencrypted",
    "error",
    standard="Sensitive data MUST be encrypted and governed.",
    why="With the key that AWS owns, access to sensitive data can be neither audited nor revoked.",
    mend="Set encryption to customer or managed on the table, or encrypted on the attribute.",
)
def sensitive_unencrypted(design: Design) -> Problems:
    """A sensitive attribute is protected by neither a key of the account nor the client."""
    for entity in design.entities:
        table = design.table(entity.table)
        for attribute in entity.attributes:
            if attribute.sensitive and not attribute.encrypted and table.encryption == "owned":
                yield Problem(
                    of_attribute(entity, attribute),
                    f"{attribute.name} is sensitive, {table.name} uses the key that AWS owns",
                )


@book.rule(
    "entity-undocumented",
    "warning",
    standard="keep item shapes predictable and documented.",
    why="Without attributes, nobody knows what an item holds, and nothing can be generated.",
    mend="Declare the attributes, or give the entity a model.",
)
def undocumented(design: Design) -> Problems:
    """An entity declares no attributes."""
    for entity in design.entities:
        if not entity.attributes:
            yield Problem(of_entity(entity), "it declares no attributes")


@book.rule(
    "entity-no-volume",
    "note",
    standard="Monitor item sizes to avoid hitting limits",
    why="Sizes decide cost, paging and limits; the checker has to guess them.",
    mend="Declare volume: items, item_bytes, collection_items.",
)
def no_volume(design: Design) -> Problems:
    """An entity declares no volume."""
    for entity in design.entities:
        if entity.volume.item_bytes is None and entity.volume.items is None:
            yield Problem(of_entity(entity), "volume is not declared")


@book.rule(
    "entity-no-timestamps",
    "note",
    standard="Include timestamps (created_at, updated_at) for audit trails",
    why="Without them nobody can tell when an item came or changed.",
    mend="Set created and updated to attribute names; the toolkit fills them.",
)
def no_timestamps(design: Design) -> Problems:
    """An entity has neither a time of creation nor of change."""
    for entity in design.entities:
        names = {each.name for each in entity.attributes if each.format in _TIME_FORMATS}
        if not entity.created and not entity.updated and not names:
            yield Problem(of_entity(entity), "it has no timestamps")
