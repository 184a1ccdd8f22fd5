"""Automatic scaling of provisioned capacity: its rules, what is registered, and the worker."""
