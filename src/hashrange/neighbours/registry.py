"""The table of neighbour services."""

from __future__ import annotations

from typing import Final

from hashrange.neighbours.cloudwatch import SERVICE as CLOUDWATCH
from hashrange.neighbours.service import Service
from hashrange.neighbours.sts import SERVICE as STS

SERVICES: Final[tuple[Service, ...]] = (CLOUDWATCH, STS)
