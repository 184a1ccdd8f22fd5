"""Costs of designs."""
