"""A chat: rooms and their members (many to many), messages in monthly buckets, unread counters.

Members are an adjacency list: the base table answers "who is in this room", the index with the keys
turned around "in which rooms is this user". A busy room does not fill one partition for ever, as
its messages are kept by month.
"""

from dataclasses import dataclass
from datetime import datetime

from hashrange.toolkit import (
    Attribute,
    Entity,
    Index,
    Rate,
    Table,
    Volume,
    begins_with,
    between,
)
from hashrange.toolkit.declarations import (
    DesignBase,
    create,
    delete,
    get,
    query,
    query_one,
    update,
)


@dataclass(frozen=True)
class Room:
    """A place to talk."""

    room_id: str
    title: str


@dataclass(frozen=True)
class Membership:
    """A user in a room."""

    room_id: str
    user_id: str
    joined_at: datetime
    unread: int = 0


@dataclass(frozen=True)
class Message:
    """What somebody said."""

    room_id: str
    sent_at: datetime
    message_id: str
    author: str
    text: str


class Chat(DesignBase, name="chat", style="single_table"):
    """Rooms, members and messages."""

    table = Table(
        "Chat",
        "PK",
        "SK",
        indexes=(
            Index(
                "ByMember",
                "member_key",
                "PK",
                serves=("rooms_of_user",),
                reason="the same edge, read from the other side",
            ),
        ),
        stream="NEW_IMAGE",
    )
    rooms = Entity(
        "room",
        {"PK": "ROOM#{room_id}", "SK": "ROOM"},
        Room,
        volume=Volume(items=10_000, item_bytes=200),
    )
    members = Entity(
        "member",
        {"PK": "ROOM#{room_id}", "SK": "MEMBER#{user_id}", "member_key": "USER#{user_id}"},
        Membership,
        volume=Volume(items=200_000, item_bytes=150, collection_items=20),
    )
    messages = Entity(
        "message",
        {"PK": "ROOM#{room_id}#{sent_at:%Y-%m}", "SK": "{sent_at}#{message_id}"},
        Message,
        attributes=(Attribute("sent_at", format="timestamp"),),
        volume=Volume(items=50_000_000, item_bytes=300, collection_items=400),
    )

    @create(rooms, rate=Rate(0.1))
    def open_room(self, room: Room) -> None:
        """A new room."""

    @get(rooms, rate=Rate(10))
    def room(self, room_id: str) -> None:
        """A room."""

    @create(members, rate=Rate(1))
    def join(self, membership: Membership) -> None:
        """Let a user into a room."""

    @delete(members, rate=Rate(0.5))
    def leave(self, room_id: str, user_id: str) -> None:
        """Let a user out."""

    @query(members, sort_key=begins_with("MEMBER#"), rate=Rate(10))
    def members_of_room(self, room_id: str) -> None:
        """Who is in a room."""

    @query(members, index="ByMember", rate=Rate(20))
    def rooms_of_user(self, user_id: str) -> None:
        """In which rooms a user is."""

    @create(messages, rate=Rate(100, 1000))
    def say(self, message: Message) -> None:
        """Say something."""

    @query(messages, sort_key=between("{sent_at_from}", "{sent_at_to}~"), rate=Rate(50))
    def history(
        self,
        room_id: str,
        sent_at: tuple[datetime, datetime],
        limit: int | None = None,
        newest_first: bool = True,
    ) -> None:
        """What was said between two moments; months are read one after the other."""

    @query_one(messages, newest_first=True, rate=Rate(10))
    def last_message(self, room_id: str, sent_at: datetime) -> None:
        """The last message of the month of a moment."""

    @update(members, "ADD unread :count", rate=Rate(100, 1000))
    def count_unread(self, room_id: str, user_id: str, count: int) -> None:
        """Add to the unread messages of a member."""

    @update(members, "SET unread = :unread", rate=Rate(10))
    def mark_read(self, room_id: str, user_id: str, unread: int = 0) -> None:
        """Note that a member has read everything."""
