"""Fault injection for tests of applications: rules, their store, and stale reads."""
