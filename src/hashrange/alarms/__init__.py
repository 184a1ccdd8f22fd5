"""Alarms on metrics, topics, and what is sent when something happens."""
