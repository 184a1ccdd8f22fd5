"""Metric math: expressions on metrics."""
