"""A social graph: people who follow people, posts with likes, timelines that are written ahead.

Following is an adjacency list: the base table has whom somebody follows, the index with the keys
turned around who follows somebody. A like is an item of its own, so that nobody likes twice, and a
counter in the post, both in one transaction. A timeline is filled when a post is written
(`deliver`), so that reading it is one query; its entries expire.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hashrange.toolkit import Entity, Index, Rate, Step, Table, Volume, begins_with
from hashrange.toolkit.declarations import (
    DesignBase,
    batch_write,
    create,
    delete,
    get,
    query,
    transact,
    update,
)


@dataclass(frozen=True)
class Person:
    """Somebody with a handle."""

    person_id: str
    handle: str


@dataclass(frozen=True)
class Follow:
    """One person follows another."""

    follower: str
    followee: str
    since: datetime


@dataclass(frozen=True)
class Post:
    """What somebody wrote."""

    author: str
    posted_at: datetime
    text: str
    likes: int = 0


@dataclass(frozen=True)
class Like:
    """Somebody likes a post."""

    author: str
    posted_at: datetime
    person_id: str


@dataclass(frozen=True)
class Entry:
    """A post in the timeline of a reader."""

    reader: str
    posted_at: datetime
    author: str
    text: str


class Social(DesignBase, name="social", style="single_table"):
    """People, posts and timelines."""

    table = Table(
        "Social",
        "PK",
        "SK",
        ttl="expires_at",
        indexes=(
            Index(
                "Followers",
                "followee_key",
                "since",
                serves=("followers",),
                reason="the same edge, read from the other side",
            ),
        ),
    )
    people = Entity(
        "person",
        {"PK": "PERSON#{person_id}", "SK": "PERSON"},
        Person,
        unique=("handle",),
        volume=Volume(items=1_000_000, item_bytes=250),
    )
    follows = Entity(
        "follow",
        {
            "PK": "PERSON#{follower}",
            "SK": "FOLLOWS#{followee}",
            "followee_key": "PERSON#{followee}",
        },
        Follow,
        volume=Volume(items=50_000_000, item_bytes=150, collection_items=50),
    )
    posts = Entity(
        "post",
        {"PK": "POSTS#{author}", "SK": "{posted_at}"},
        Post,
        volume=Volume(items=100_000_000, item_bytes=500, collection_items=100),
    )
    likes = Entity(
        "like",
        {"PK": "LIKES#{author}#{posted_at}", "SK": "PERSON#{person_id}"},
        Like,
        volume=Volume(items=500_000_000, item_bytes=120, collection_items=5),
    )
    entries = Entity(
        "entry",
        {"PK": "TIMELINE#{reader}", "SK": "{posted_at}#{author}"},
        Entry,
        ephemeral=True,
        expires_after=14 * 24 * 3600,
        volume=Volume(items=700_000_000, item_bytes=400, collection_items=700),
    )

    @create(people, rate=Rate(1))
    def join(self, person: Person) -> None:
        """Somebody new, with a handle nobody else has."""

    @get(people, rate=Rate(500))
    def person(self, person_id: str) -> None:
        """Somebody."""

    @create(follows, rate=Rate(20))
    def follow(self, follow: Follow) -> None:
        """Follow somebody."""

    @delete(follows, rate=Rate(5))
    def unfollow(self, follower: str, followee: str) -> None:
        """Follow somebody no longer."""

    @query(follows, sort_key=begins_with("FOLLOWS#"), rate=Rate(20))
    def following(self, follower: str) -> None:
        """Whom somebody follows."""

    @query(follows, index="Followers", newest_first=True, rate=Rate(50))
    def followers(self, followee: str, limit: int | None = None) -> None:
        """Who follows somebody, the newest first."""

    @create(posts, rate=Rate(20))
    def write(self, post: Post) -> None:
        """Write a post."""

    @query(posts, newest_first=True, limit=20, rate=Rate(200))
    def posts_of(self, author: str, limit: int | None = None) -> None:
        """The posts of somebody, newest first."""

    @transact(
        "a like and the counter must agree",
        Step("create", "like", message="liked already"),
        Step("update", "post", update="ADD likes :one"),
        rate=Rate(200, 2000),
    )
    def add_like(self, like: Like, author: str, posted_at: datetime, one: int) -> None:
        """Like a post, once."""

    @query(likes, rate=Rate(50))
    def likes_of(self, author: str, posted_at: datetime, limit: int | None = None) -> None:
        """Who likes a post."""

    @batch_write(entries, rate=Rate(1000))
    def deliver(self, entries: Iterable[Entry]) -> None:
        """Put a post into timelines."""

    @query(entries, newest_first=True, limit=50, rate=Rate(500, 5000))
    def timeline(self, reader: str, limit: int | None = None) -> None:
        """What a reader should see, newest first."""

    @update(people, "SET handle = :handle", rate=Rate(0.1))
    def rename(self, person_id: str, handle: str) -> None:
        """Take another handle, if it is free."""


def publish(social: Social, post: Post) -> int:
    """Write a post and deliver it to all followers; return how many they are."""
    social.write(post)
    entries = (
        Entry(follow.follower, post.posted_at, post.author, post.text)
        for follow in social.followers(post.author)
    )
    return social.deliver(entries)


def like_post(social: Social, post: Post, person_id: str) -> None:
    """Like a post; TransactionFailed if that person likes it already."""
    like = Like(post.author, post.posted_at, person_id)
    social.add_like(like, post.author, post.posted_at, one=1)
