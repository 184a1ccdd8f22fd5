"""`hashrange copy SOURCE TARGET`: definition, items, changes made meanwhile, and a comparison.

Exit status: 0 when the target has what the source has, 1 when it has not or a server refused, 2
for wrong arguments, 130 after Control-C, when the state file lets the same command go on.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Final, final

from hashrange.cli.data.connection import connection_flags, make_session

_SEGMENTS: Final = 8
_SEGMENTS_MAX: Final = 64
_SHOWN_MAX: Final = 10


def add_command(commands: Any) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "copy",
        help="copy a table to another endpoint or name",
        description="Copy a table between DynamoDB endpoints: its definition, its items, what "
        "changes meanwhile; then compare. Interrupted, the same command goes on.",
        parents=[connection_flags()],
        allow_abbrev=False,
    )
    place = "TABLE, http://HOST:PORT/TABLE or aws://REGION/TABLE"
    parser.add_argument("source", metavar="SOURCE", help=place)
    parser.add_argument("target", metavar="TARGET", help="the same; http://HOST:PORT/ also does")
    for end in ("source", "target"):
        parser.add_argument(f"--{end}-region", metavar="NAME", help=f"region of the {end}")
        parser.add_argument(f"--{end}-profile", metavar="NAME", help=f"AWS profile of the {end}")
    parser.add_argument(
        "--segments",
        type=_between(1, _SEGMENTS_MAX),
        default=_SEGMENTS,
        metavar="NUMBER",
        help=f"scans at a time (default: {_SEGMENTS})",
    )
    parser.add_argument(
        "--rate", type=_between(1, 10**9), metavar="NUMBER", help="items a second at most"
    )
    parser.add_argument(
        "--follow",
        action=argparse.BooleanOptionalAction,
        help="go on with the source's stream until Control-C; --no-follow leaves the stream alone "
        "(default: catch up with it once)",
    )
    parser.add_argument("--no-verify", action="store_true", help="do not compare afterwards")
    parser.add_argument(
        "--state", metavar="FILE", help="progress (default: hashrange-copy-TABLE.json)"
    )
    parser.add_argument(
        "--restart", action="store_true", help="begin again, whatever the state file says"
    )


def _between(least: int, most: int) -> Any:
    def number(text: str) -> int:
        found = int(text)
        if not least <= found <= most:
            raise argparse.ArgumentTypeError(f"from {least} to {most}")
        return found

    return number


def run(given: argparse.Namespace) -> int:
    """Carry out the command; return the exit status."""
    from botocore.exceptions import BotoCoreError, ClientError

    from hashrange.cli.copying.definitions import CopyError
    from hashrange.cli.copying.places import PlaceError
    from hashrange.toolkit.errors import ToolkitError

    try:
        return _Copy(given).run()
    except PlaceError as error:
        return _complain(str(error), 2)
    except ClientError as error:
        answer = error.response["Error"]
        return _complain(f"{answer['Code']}: {answer.get('Message', '')}".rstrip(": "), 1)
    except (BotoCoreError, CopyError, ToolkitError) as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("interrupted; the same command goes on from here", 130)


def _complain(text: str, status: int) -> int:
    _say(f"hashrange: {text}")
    return status


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


@final
class _Copy:
    """One run of the command."""

    def __init__(self, given: argparse.Namespace) -> None:
        from hashrange.cli.copying.pace import Pace
        from hashrange.cli.copying.places import Place, read_place

        source = read_place(given.source, given.endpoint)
        target = read_place(given.target, given.endpoint, source.table)
        self._given = given
        self._pace = Pace(given.rate)
        profiles = (given.source_profile or given.profile, given.target_profile or given.profile)
        sessions = {profile: make_session(profile) for profile in profiles}
        regions = (given.source_region or given.region, given.target_region or given.region)
        self._source, self._target = (
            Place(name, sessions[profile], region)
            for name, profile, region in zip((source, target), profiles, regions, strict=True)
        )

    def run(self) -> int:
        """Copy, catch up, compare."""
        from hashrange.cli.copying.definitions import CopyError, copy_time_to_live, key_names
        from hashrange.cli.copying.following import Follower
        from hashrange.cli.copying.scanning import copy_items
        from hashrange.cli.meter import meter

        if self._source.identity == self._target.identity:
            raise CopyError("the source and the target are the same table")
        described = self._source.describe()
        if described is None:
            raise CopyError(f"there is no table {self._source.name}")
        state = self._open_state(described)
        ends, keys = (self._source, self._target), key_names(described)
        begin, done = time.monotonic(), state.items
        try:
            with meter("copying", described.get("ItemCount", 0), done) as progress:
                copy_items(*ends, state, self._pace, progress)
            seconds = time.monotonic() - begin
            _say(f"copied {state.items:,} items ({(state.items - done) / seconds:,.0f}/s)")
            follower = Follower(ends, keys, state, self._pace) if state.stream else None
            if follower is not None:
                self._follow(follower)
            status = self._verify(keys, follower)
        except BaseException:
            state.save()
            raise
        if status == 0:
            copy_time_to_live(*ends)
            state.remove()
        return status

    def _open_state(self, described: dict[str, Any]) -> Any:
        """Return the state to go on from, and have the target there."""
        from hashrange.cli.copying.definitions import check_same_keys, create_like
        from hashrange.cli.copying.following import begin_following
        from hashrange.cli.copying.state import CopyState

        path = Path(self._given.state or f"hashrange-copy-{self._source.table}.json")
        ends = {
            "source": str(self._source.name),
            "target": str(self._target.name),
            "source_id": described.get("TableId", ""),
        }
        found = self._target.describe()
        if not self._given.restart:
            ends_now = {**ends, "target_id": (found or {}).get("TableId", "")}
            state = CopyState.load(path, ends_now)
            if state is not None:
                _say(f"going on from {path}, {state.items:,} items")
                return state
        if found is None:
            found = create_like(self._source, described, self._target)
            _say(f"created {self._target.name}")
        check_same_keys(described, found)
        ends["target_id"] = found.get("TableId", "")
        state = CopyState.begin(path, ends, self._given.segments)
        stream = described.get("LatestStreamArn")
        is_on = described.get("StreamSpecification", {}).get("StreamEnabled")
        if self._given.follow is not False and stream and is_on:
            begin_following(self._source, stream, state)
        elif self._given.follow is not False:
            _say("the source has no stream: changes made during the copy may be missing")
        state.save()
        return state

    def _follow(self, follower: Any) -> None:
        from hashrange.cli.meter import meter

        with meter("catching up") as progress:
            follower.catch_up(progress)
        _say("caught up with the stream")
        if self._given.follow:
            with meter("following, Control-C ends it") as progress:
                follower.follow(progress)

    def _verify(self, keys: list[str], follower: Any) -> int:
        from hashrange.cli.copying.verifying import Comparison
        from hashrange.cli.meter import Silence, meter

        if self._given.no_verify:
            return 0
        ends = (self._source, self._target)
        comparison = Comparison(ends, keys, self._given.segments, self._pace)
        catch_up = None if follower is None else lambda: follower.catch_up(Silence())
        with meter("comparing") as progress:
            differing = comparison.differences(progress, catch_up)
        if differing is None:
            return _complain("the tables differ in very many items", 1)
        if not differing:
            _say(f"verified {comparison.items:,} items")
            return 0
        for key in differing[:_SHOWN_MAX]:
            _say(f"differs: {key.decode()}")
        count = len(differing)
        return _complain(f"{count} item{'' if count == 1 else 's'} of the tables differ", 1)
