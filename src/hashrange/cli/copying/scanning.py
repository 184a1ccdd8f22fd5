"""Parallel scans of a table: its segments are read by threads, page by page."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from hashrange.cli.copying.pace import Pace, StoppedError
from hashrange.cli.copying.places import Place
from hashrange.cli.copying.state import CopyState
from hashrange.cli.meter import Meter
from hashrange.toolkit.client.batches import WRITES_PER_BATCH, chunked, write_entries
from hashrange.toolkit.client.plans import Call
from hashrange.toolkit.client.retries import RetryPolicy, attempt
from hashrange.toolkit.values import Item

PATIENT: Final = RetryPolicy(attempts=40)
"""A copy waits for minutes, not seconds, while a table is throttled."""

OnPage = Callable[[int, list[Item], dict[str, Any] | None], None]
"""Takes the segment, the items of a page, and the key to go on after, if the segment goes on."""


def scan_segments(
    place: Place, starts: dict[int, dict[str, Any] | None], total: int, pace: Pace, on_page: OnPage
) -> None:
    """Read segments of a table at the same time, each from behind a key or from its beginning."""

    def read(segment: int) -> None:
        after = starts[segment]
        while True:
            request: dict[str, Any] = {
                "TableName": place.table,
                "Segment": segment,
                "TotalSegments": total,
                "ConsistentRead": True,
            }
            if pace.rate:
                request["Limit"] = pace.rate
            if after:
                request["ExclusiveStartKey"] = after
            page = place.driver.run(attempt(Call("scan", request), PATIENT))
            after = page.get("LastEvaluatedKey")
            on_page(segment, page["Items"], after)
            if after is None:
                return

    run_together(read, list(starts), pace)


def run_together(act: Callable[[Any], None], subjects: list[Any], pace: Pace) -> None:
    """Act on subjects in a thread each; the first failure stops the others, and is raised."""

    def guarded(subject: Any) -> None:
        try:
            act(subject)
        except BaseException:
            pace.stop()
            raise

    if not subjects:
        return
    with ThreadPoolExecutor(len(subjects)) as pool:
        futures = [pool.submit(guarded, subject) for subject in subjects]
        try:
            errors = [error for future in futures if (error := future.exception()) is not None]
        except BaseException:  # Control-C
            pace.stop()
            raise
    for error in sorted(errors, key=lambda error: isinstance(error, StoppedError)):
        raise error


def copy_items(source: Place, target: Place, state: CopyState, pace: Pace, meter: Meter) -> None:
    """Put all items of the source that were not copied yet into the target."""

    def put(segment: int, items: list[Item], after: dict[str, Any] | None) -> None:
        entries = [{"PutRequest": {"Item": item}} for item in items]
        for chunk in chunked(entries, WRITES_PER_BATCH):
            pace.take(len(chunk))
            target.driver.run(write_entries(target.table, chunk, PATIENT))
            meter.advance(len(chunk))
        state.move_segment(segment, after, len(items))

    starts = {
        number: segment["after"]
        for number, segment in enumerate(state.segments)
        if not segment["is_done"]
    }
    scan_segments(source, starts, len(state.segments), pace, put)
    state.save()
