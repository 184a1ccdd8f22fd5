"""Hashrange: the DynamoDB API as software you run yourself."""

from __future__ import annotations

__version__ = "0.2.0"
