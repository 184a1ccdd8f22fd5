"""Reads the stream of a table: every change of every item, in order, from where one left off.

`changes` has what a handler is given, `checkpoints` where the position is kept, `shards` the order
in which shards are read, `consumer` the loop.
"""
