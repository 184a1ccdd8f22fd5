"""Game sessions: players, sessions that expire, open games in a sparse index, leaderboards.

A leaderboard of one game would be one hot partition, so scores go to four shards; reading the top
ten reads ten of each and merges them. Scores are numbers, so that they are ordered as numbers.
"""

from dataclasses import dataclass, field
from datetime import datetime

from hashrange.toolkit import Entity, Index, KeyAttribute, Rate, Table, Volume, begins_with
from hashrange.toolkit.declarations import DesignBase, create, get, put, query, update


@dataclass(frozen=True)
class Player:
    """Somebody who plays."""

    player_id: str
    nickname: str
    version: int = 0


@dataclass(frozen=True)
class Session:
    """A login of a player; it expires by itself."""

    player_id: str
    session_id: str
    device: str


@dataclass(frozen=True)
class Game:
    """A match. `open_since` is there as long as players can join."""

    game_id: str
    mode: str
    host: str
    open_since: datetime | None = None
    players: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Score:
    """The best score of a player in a mode."""

    mode: str
    player_id: str
    score: int


class Games(DesignBase, name="games", style="single_table"):
    """Players, sessions, matches and leaderboards."""

    table = Table(
        "Games",
        "PK",
        "SK",
        ttl="expires_at",
        indexes=(
            Index(
                "OpenGames",
                "open_mode",
                "open_since",
                sparse=True,
                serves=("open_games",),
                reason="only the few games that can be joined are in it",
            ),
            Index(
                "Leaderboard",
                "board",
                KeyAttribute("score", "N"),
                serves=("top_scores",),
                reason="scores are ordered by number",
            ),
        ),
    )
    players = Entity(
        "player",
        {"PK": "PLAYER#{player_id}", "SK": "PLAYER"},
        Player,
        unique=("nickname",),
        version="version",
        volume=Volume(items=1_000_000, item_bytes=200),
    )
    sessions = Entity(
        "session",
        {"PK": "PLAYER#{player_id}", "SK": "SESSION#{session_id}"},
        Session,
        ephemeral=True,
        expires_after=24 * 3600,
        volume=Volume(items=200_000, item_bytes=150, collection_items=2),
    )
    games = Entity(
        "game",
        {"PK": "GAME#{game_id}", "SK": "GAME", "open_mode": "OPEN#{mode}#{open_since:%Y-%m-%d}"},
        Game,
        volume=Volume(items=5_000_000, item_bytes=400),
    )
    scores = Entity(
        "score",
        {
            "PK": "PLAYER#{player_id}",
            "SK": "SCORE#{mode}",
            "board": "BOARD#{mode}#{player_id:shard 4}",
        },
        Score,
        volume=Volume(items=3_000_000, item_bytes=120, collection_items=3),
    )

    @create(players, rate=Rate(1))
    def register(self, player: Player) -> None:
        """A new player with a nickname nobody else has."""

    @create(sessions, rate=Rate(5, 100))
    def log_in(self, session: Session) -> None:
        """Start a session."""

    @get(sessions, rate=Rate(500, 5000))
    def session(self, player_id: str, session_id: str) -> None:
        """A session, if it has not expired."""

    @query(sessions, sort_key=begins_with("SESSION#"), rate=Rate(1))
    def sessions_of_player(self, player_id: str) -> None:
        """Where a player is logged in."""

    @create(games, rate=Rate(10, 100))
    def host_game(self, game: Game) -> None:
        """Offer a game."""

    @query(games, index="OpenGames", limit=20, rate=Rate(50))
    def open_games(self, mode: str, open_since: datetime, limit: int | None = None) -> None:
        """The games of a mode and a day that can be joined, those that wait longest first."""

    @update(
        games,
        "SET players = list_append(players, :joining)",
        condition="attribute_exists(open_since) AND size(players) < :seats",
        rate=Rate(20),
    )
    def join(self, game_id: str, joining: list[str], seats: int) -> None:
        """Take a seat while there is one."""

    @update(games, "REMOVE open_since", condition="attribute_exists(open_since)", rate=Rate(10))
    def start(self, game_id: str) -> None:
        """Start a game: it leaves the index."""

    @put(
        scores,
        condition="attribute_not_exists(score) OR score < :score",
        rate=Rate(10, 100),
    )
    def submit_score(self, score: Score) -> None:
        """Keep a score if it is the best so far."""

    @query(scores, index="Leaderboard", newest_first=True, limit=10, rate=Rate(100, 1000))
    def top_scores(self, mode: str, limit: int | None = None) -> None:
        """The best scores of a mode; four shards are read and merged."""
