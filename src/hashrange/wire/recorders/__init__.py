"""Recorders: what becomes of requests that were answered."""
