"""Runs every access pattern of a design on generated data and measures what each call takes.

`population` makes the data, `arguments` the calls, `meter` counts, `rehearse` brings them together.
Everything is deterministic: the same design gives the same items and calls.
"""
