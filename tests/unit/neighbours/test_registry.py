"""The table of neighbour services and the documents about it."""

import re
from pathlib import Path

from tests.harness.all_neighbours import all_services

SERVICES = all_services()
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "operations.md"


def test_names_that_route_requests_are_unique():
    for names in (
        [service.name for service in SERVICES],
        [service.signing_name for service in SERVICES],
        [service.api_version for service in SERVICES if not service.rest],
        [service.target_prefix for service in SERVICES if service.target_prefix],
    ):
        assert len(set(names)) == len(names)


def test_every_operation_of_a_neighbour_is_documented():
    text = REFERENCE.read_text().partition("## Other services")[2]
    names = [name for service in SERVICES for name in service.handlers()]
    assert not [name for name in names if not re.search(rf"\b{name}\b", text)]
