"""StreamSpecification: what is refused before a table is looked at."""

import pytest

from hashrange.api.tables.stream_settings import check_new_stream, check_stream_update
from hashrange.errors import ValidationException


@pytest.mark.parametrize(
    ("specification", "text"),
    [
        ({"StreamEnabled": True}, "created with a stream enabled, UpdateViewType is required"),
        (
            {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"},
            "created with a stream disabled, UpdateViewType should not",
        ),
    ],
)
def test_a_new_stream_has_a_view_type_if_and_only_if_it_is_enabled(specification, text):
    with pytest.raises(ValidationException, match=text):
        check_new_stream(specification)


@pytest.mark.parametrize(
    "specification",
    [None, {"StreamEnabled": False}, {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}],
)
def test_good_specifications_are_accepted(specification):
    check_new_stream(specification)
    check_stream_update({"StreamSpecification": specification} if specification else {})


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            "enabled then UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
            "UpdateViewType must not be specified",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False}, "ProvisionedThroughput": {}},
            "cannot modify stream status while updating table IOPS",
        ),
    ],
)
def test_wrong_updates_are_refused(request_, text):
    with pytest.raises(ValidationException, match=text):
        check_stream_update(request_)
