"""The composition root: the only package that wires things and names an engine."""
