"""Sensors: daily buckets of readings that expire, latest readings, open alarms in a sparse index.

A reading per second and device would make the item collection of a device grow without end, so the
partition key has the day. The latest reading is an item of its own, overwritten by a condition that
keeps late readings from replacing newer ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from hashrange.toolkit import Attribute, Entity, Index, Rate, Table, Volume, between
from hashrange.toolkit.declarations import DesignBase, batch_write, create, get, put, query, update


@dataclass(frozen=True)
class Device:
    """A thing with sensors."""

    device_id: str
    site: str
    model: str


@dataclass(frozen=True)
class Reading:
    """What a device measured at a moment."""

    device_id: str
    at: datetime
    celsius: Decimal


@dataclass(frozen=True)
class Latest:
    """The newest reading of a device."""

    device_id: str
    site: str
    at: datetime
    celsius: Decimal


@dataclass(frozen=True)
class Alarm:
    """Something that is wrong; `open_site` is there until it is resolved."""

    device_id: str
    raised_at: datetime
    kind: str
    open_site: str | None = None


class Sensors(DesignBase, name="sensors", style="single_table"):
    """Devices, readings and alarms."""

    table = Table(
        "Sensors",
        "PK",
        "SK",
        ttl="expires_at",
        indexes=(
            Index(
                "BySite",
                "site_key",
                "SK",
                serves=("devices_of_site", "site_now"),
                reason="dashboards show a site, not a device",
            ),
            Index(
                "OpenAlarms",
                "open_site",
                "SK",
                sparse=True,
                serves=("open_alarms",),
                reason="a handful of alarms among millions of items",
            ),
        ),
    )
    devices = Entity(
        "device",
        {"PK": "DEVICE#{device_id}", "SK": "DEVICE", "site_key": "SITE#{site}#DEVICES"},
        Device,
        volume=Volume(items=10_000, item_bytes=200),
    )
    latest = Entity(
        "latest",
        {"PK": "DEVICE#{device_id}", "SK": "LATEST", "site_key": "SITE#{site}#NOW"},
        Latest,
        volume=Volume(items=10_000, item_bytes=150),
    )
    readings = Entity(
        "reading",
        {"PK": "READINGS#{device_id}#{at:%Y-%m-%d}", "SK": "{at}"},
        Reading,
        attributes=(Attribute("at", format="timestamp"),),
        ephemeral=True,
        expires_after=90 * 24 * 3600,
        volume=Volume(items=100_000_000, item_bytes=120, collection_items=1440),
    )
    alarms = Entity(
        "alarm",
        {"PK": "DEVICE#{device_id}", "SK": "ALARM#{raised_at}"},
        Alarm,
        volume=Volume(items=50_000, item_bytes=200, collection_items=5),
    )

    @create(devices, rate=Rate(0.01))
    def install(self, device: Device) -> None:
        """A new device."""

    @query(devices, index="BySite", rate=Rate(1))
    def devices_of_site(self, site: str) -> None:
        """The devices of a site."""

    @batch_write(readings, rate=Rate(200, 400))
    def record(self, readings: Iterable[Reading]) -> None:
        """Keep readings."""

    @query(readings, sort_key=between("{at_from}", "{at_to}"), rate=Rate(2))
    def history(
        self, device_id: str, at: tuple[datetime, datetime], limit: int | None = None
    ) -> None:
        """The readings between two moments; days are read one after the other."""

    @put(latest, condition="attribute_not_exists(PK) OR at < :at", rate=Rate(200))
    def update_latest(self, latest: Latest) -> None:
        """Replace the latest reading, unless a newer one is there."""

    @get(latest, rate=Rate(10))
    def now(self, device_id: str) -> None:
        """The latest reading of a device."""

    @query(latest, index="BySite", rate=Rate(5))
    def site_now(self, site: str) -> None:
        """The latest readings of a site."""

    @create(alarms, rate=Rate(0.1))
    def raise_alarm(self, alarm: Alarm) -> None:
        """Something is wrong."""

    @query(alarms, index="OpenAlarms", partition_key="{site}", newest_first=True, rate=Rate(1))
    def open_alarms(self, site: str) -> None:
        """What is wrong at a site, newest first."""

    @update(alarms, "REMOVE open_site", condition="attribute_exists(open_site)", rate=Rate(0.1))
    def resolve(self, device_id: str, raised_at: datetime) -> None:
        """The alarm is over: it leaves the index."""
