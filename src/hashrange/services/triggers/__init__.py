"""Triggers: calls functions for the records of streams, in order and at least once."""
