"""What a write makes of an item: the item before and after."""

from __future__ import annotations

from typing import final

from hashrange.model.values import Item


@final
class Image:
    """The item before and after a write.

    `old` is the item before, if it had to be decoded; `new` the item after and its row, None when
    there is none. `is_change` is False where there is nothing to record.
    """

    __slots__ = ("is_change", "matched", "new", "old")

    def __init__(
        self,
        old: Item | None,
        new: tuple[Item, bytes] | None,
        *,
        matched: bool = True,
        is_change: bool = True,
    ) -> None:
        self.old = old
        self.new = new
        self.matched = matched
        self.is_change = is_change
