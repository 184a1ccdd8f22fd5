"""The shapes of requests about contributor insights; see `requests` for how to read them."""

from __future__ import annotations

from typing import Final

from hashrange.api.shapes.scalars import NAME_PATTERN, Number, String, TableName
from hashrange.api.shapes.structures import Structure

_TABLE: Final = TableName(minimum=1)
_INDEX: Final = String(minimum=3, maximum=255, pattern=NAME_PATTERN)

UPDATE_CONTRIBUTOR_INSIGHTS: Final = Structure(
    "UpdateContributorInsightsInput",
    {
        "TableName": _TABLE,
        "IndexName": _INDEX,
        "ContributorInsightsAction": String(enum=("ENABLE", "DISABLE")),
        "ContributorInsightsMode": String(enum=("ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS")),
    },
    required=("TableName", "ContributorInsightsAction"),
)
DESCRIBE_CONTRIBUTOR_INSIGHTS: Final = Structure(
    "DescribeContributorInsightsInput",
    {"TableName": _TABLE, "IndexName": _INDEX},
    required=("TableName",),
)
LIST_CONTRIBUTOR_INSIGHTS: Final = Structure(
    "ListContributorInsightsInput",
    {"TableName": _TABLE, "NextToken": String(), "MaxResults": Number("Integer", maximum=100)},
)
