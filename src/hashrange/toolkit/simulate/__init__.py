"""What a design does under load: partitions, bursts, throttling, splits.

`partitions` is the capacity model, pure and usable on its own; `load` turns the patterns of a
design into requests, `run` puts both together.
"""
