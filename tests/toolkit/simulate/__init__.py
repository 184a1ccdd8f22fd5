"""Designs under load."""
